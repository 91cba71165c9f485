import {
  Alert,
  Button,
  Code,
  DataList,
  Group,
  NumberInput,
  Skeleton,
  Stack,
  TextInput,
} from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Account } from "#contract";
import { call } from "../api.ts";
import { type Failure, inPlace } from "../failure.ts";
import { checkName, checkWholeNumber } from "../fields.ts";
import { useAccount, useDenial } from "../session.ts";
import { settingsText as text } from "../text/settings.ts";
import { words } from "../text/words.ts";
import { CopyIcon } from "../ui/copy-button.tsx";
import { FailureLine, FailurePanel } from "../ui/failure-panel.tsx";
import { Page } from "../ui/page.tsx";
import { ReasonedButton } from "../ui/reasoned.tsx";
import { Time } from "../ui/time.tsx";
import { toast } from "../ui/toasts.tsx";
import { useAction } from "../use-action.ts";
import { useFormFields } from "../use-draft-fields.ts";
import { askAgain, useRead } from "../use-read.ts";

export function SettingsPage() {
  const { accountId, name } = useAccount();
  const account = useRead("GET /console/accounts/{accountId}", { params: { accountId } });
  return (
    <Page title={text.title} about={name} lead={text.lead} hasTimes>
      {account.data ? (
        <Stack gap="lg" maw="32rem">
          <Editable account={account.data} />
          <About account={account.data} />
        </Stack>
      ) : account.failure ? (
        <FailurePanel failure={account.failure} onRetry={account.retry} />
      ) : (
        <Skeleton height={380} maw="32rem" role="status" aria-label={words.loading} />
      )}
    </Page>
  );
}

/** Shows others' changes at once, but never overwrites what somebody is typing. */
function Editable({ account }: { account: Account }) {
  const [opened, setOpened] = useState(account);
  const [isDirty, setIsDirty] = useState(false);
  if (!isDirty && account.version > opened.version) setOpened(account);
  return (
    <SettingsForm
      account={opened}
      key={opened.version}
      onDirty={setIsDirty}
      onPresent={(present) => {
        setIsDirty(false);
        setOpened(present);
      }}
    />
  );
}

type FormProps = {
  account: Account;
  onDirty: (isDirty: boolean) => void;
  /** Called with the settings as saved. */
  onPresent: (account: Account) => void;
};

type Values = { name: string; defaultSender: string; lowCredits: number | string };

function valuesOf({ name, defaultSender, lowCredits }: Account): Values {
  return { name, defaultSender: defaultSender ?? "", lowCredits };
}

function SettingsForm({ account, onDirty, onPresent }: FormProps) {
  const { accountId } = account;
  const [base, setBase] = useState(account);
  const [isOld, setIsOld] = useState(false);
  const client = useQueryClient();
  const denial = useDenial("owner");
  const fields = useFormFields(`settings ${accountId}`, valuesOf(account), {
    name: checkName,
    lowCredits: checkWholeNumber,
  });
  const save = useAction(async (values: Values) => {
    const saved = await call("PATCH /console/accounts/{accountId}", {
      params: { accountId },
      body: {
        version: base.version,
        name: values.name.trim(),
        defaultSender: values.defaultSender.trim() || null,
        lowCredits: Number(values.lowCredits),
      },
    });
    askAgain(client, ["GET /console/accounts/{accountId}", "GET /console/me"]);
    toast({ title: text.saved, message: text.savedHint });
    return saved;
  });
  async function send(values: Values): Promise<void> {
    const outcome = await save.run(values);
    if (!outcome) return;
    if (!outcome.ok) return refuse(outcome.failure, values);
    onPresent(outcome.result);
  }
  async function refuse(failure: Failure, typed: Values): Promise<void> {
    if (failure.code !== "VERSION_CONFLICT") return fields.take(failure);
    const asked = call("GET /console/accounts/{accountId}", { params: { accountId } });
    const present = await asked.catch(() => undefined);
    setIsOld(present === undefined);
    if (present) mergeWith(present, typed);
  }
  /** Keeps what was typed, despite others' changes; all other fields become theirs. */
  function mergeWith(present: Account, typed: Values): void {
    const theirs = valuesOf(present);
    const before = valuesOf(base);
    const own = (["name", "defaultSender", "lowCredits"] as const).filter(
      (name) => typed[name] !== before[name],
    );
    fields.setInitialValues(theirs);
    fields.setValues({
      ...theirs,
      ...Object.fromEntries(own.map((name) => [name, typed[name]])),
    });
    for (const name of own)
      if (theirs[name] !== before[name] && theirs[name] !== typed[name])
        fields.setFieldError(name, text.nowTheirs(String(theirs[name])));
    setBase(present);
  }
  const failure = inPlace(
    fields.general(save.failure),
    isOld ? text.conflictUnread : text.conflict,
  );
  const isDirty = fields.isDirty();
  useEffect(() => onDirty(isDirty), [onDirty, isDirty]);
  return (
    <form onSubmit={fields.submit((values) => void send(values))} noValidate>
      <Stack gap="md">
        {failure && <FailureLine failure={failure} />}
        {denial && (
          <Alert variant="outline" color="gray">
            {denial}
          </Alert>
        )}
        <TextInput
          label={text.name}
          readOnly={denial !== undefined}
          {...fields.getInputProps("name")}
        />
        <TextInput
          label={text.defaultSender}
          description={text.defaultSenderHint}
          readOnly={denial !== undefined}
          {...fields.getInputProps("defaultSender")}
        />
        <NumberInput
          label={text.lowCredits}
          description={text.lowCreditsHint}
          min={0}
          allowDecimal={false}
          thousandSeparator=","
          readOnly={denial !== undefined}
          {...fields.getInputProps("lowCredits")}
        />
        <Group>
          <ReasonedButton type="submit" reason={denial} loading={save.isRunning}>
            {words.save}
          </ReasonedButton>
          {isDirty && (
            <Button variant="subtle" onClick={fields.reset}>
              {words.cancel}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

function About({ account }: { account: Account }) {
  return (
    <DataList labelWidth="7rem">
      <DataList.Item>
        <DataList.ItemLabel>{text.accountId}</DataList.ItemLabel>
        <DataList.ItemValue>
          <Group gap={4} wrap="nowrap">
            <Code>{account.accountId}</Code>
            <CopyIcon text={account.accountId} label={text.copyId} />
          </Group>
        </DataList.ItemValue>
      </DataList.Item>
      <DataList.Item>
        <DataList.ItemLabel>{text.created}</DataList.ItemLabel>
        <DataList.ItemValue>
          <Time at={account.createdAt} />
        </DataList.ItemValue>
      </DataList.Item>
    </DataList>
  );
}
