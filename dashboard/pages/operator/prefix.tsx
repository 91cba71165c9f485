import {
  Button,
  Group,
  Input,
  Paper,
  Stack,
  Text,
  TextInput,
  type TextInputProps,
  Title,
} from "@mantine/core";
import { type ReactNode, Suspense, useId, useState } from "react";
import { type Failure, inPlace } from "../../failure.ts";
import { part } from "../../parts.ts";
import { routingText as text } from "../../text/operator.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { RowButton } from "../../ui/reasoned.tsx";
import { type Checks, type Fields, useFields } from "../../ui/use-fields.ts";
import { useAction } from "../../use-action.ts";
import { useFormFields } from "../../use-draft-fields.ts";
import classes from "./operator.module.css";

const Confirm = part(() => import("../../ui/confirm.tsx"), "Confirm");

export function checkPrefix(value: string): string | null {
  return /^\d{0,15}$/.test(value) ? null : text.prefixWrong;
}

/** Accepts a prefix as people write it, with a plus or spaces. */
function bareOf(written: string): string {
  return written.replaceAll(/[\s+]/g, "");
}

export function prefixName(prefix: string): string {
  return prefix === "" ? text.anyNumber : prefix;
}

type Removal = { prefix: string; version: number | undefined };

type RemovalRequest = {
  /** The version of the list that is shown. */
  version: number | undefined;
  title: (prefixName: string) => string;
  consequence: (prefix: string) => string;
  remove: (removal: Removal) => Promise<unknown>;
};

/** The buttons of each row, and the one dialog that asks before removing it. */
export function useRowActions(wish: RemovalRequest) {
  const { version } = wish;
  const [asked, setAsked] = useState<Removal>();
  const buttons = (prefix: string, onEdit: () => void) => (
    <Group gap="xs" wrap="nowrap">
      <RowButton aria-label={text.editNamed(prefixName(prefix))} onClick={onEdit}>
        {text.edit}
      </RowButton>
      <RowButton
        takesAway
        aria-label={text.removeNamed(prefixName(prefix))}
        onClick={() => setAsked({ prefix, version })}
      >
        {text.remove}
      </RowButton>
    </Group>
  );
  const dialog = asked && (
    <Suspense>
      <RemovalDialog wish={wish} asked={asked} onClose={() => setAsked(undefined)} />
    </Suspense>
  );
  return { buttons, dialog };
}

type RemovalProps = { wish: RemovalRequest; asked: Removal; onClose: () => void };

function RemovalDialog({ wish, asked, onClose }: RemovalProps) {
  const removal = useAction(wish.remove, onClose);
  return (
    <Confirm
      title={wish.title(prefixName(asked.prefix))}
      consequence={wish.consequence(asked.prefix)}
      submit={text.remove}
      action={removal}
      onConfirm={() => void removal.run(asked)}
      onClose={onClose}
    />
  );
}

export type Keyed = { prefix: string };
type Version = number | undefined;

type SettingRequest<Values extends Record<string, unknown>, Row> = {
  name: string;
  list: { version: number; data: Row[] } | undefined;
  empty: Values;
  checks: Checks<Values>;
  set: (request: { values: Values; version: Version }) => Promise<unknown>;
};

type Setting<Values extends Record<string, unknown>, Row> = {
  fields: Fields<Values>;
  /** The row that saving would replace. */
  before: Row | undefined;
  failure: Failure | undefined;
  isRunning: boolean;
  /** Call it when a field was touched. */
  begin: () => void;
  /** Call it after the user's own change of the list, which does not conflict with this form. */
  renew: () => void;
  /** Fills in what is set now. */
  edit: (values: Values, focus: string) => void;
  send: (values: Values) => void;
};

/**
 * The form that sets something for a prefix. It is sent with the version of the list that was shown
 * when editing began, so that it undoes nobody's later change.
 */
export function useSetting<Values extends Keyed & Record<string, unknown>, Row extends Keyed>(
  wish: SettingRequest<Values, Row>,
): Setting<Values, Row> {
  const { list } = wish;
  const fields = useFormFields<Values>(wish.name, wish.empty, wish.checks);
  const [begunAt, setBegunAt] = useState<Version>();
  const [dismissed, setDismissed] = useState<Failure>();
  const action = useAction(wish.set);
  async function send(values: Values): Promise<void> {
    const outcome = await action.run({ values, version: begunAt ?? list?.version });
    if (!outcome) return;
    // After a conflict the list shows the other change; sending once more then overrides it.
    if (outcome.ok || outcome.failure.code === "VERSION_CONFLICT") setBegunAt(undefined);
    if (!outcome.ok) fields.take(outcome.failure);
    // Keep the fields if something else was entered meanwhile.
    else if (fields.getValues() === values) fields.reset();
  }
  // An empty prefix matches the default's row, even if it was not meant as the default yet.
  const before = list?.data.find(({ prefix }) => prefix === fields.values.prefix);
  return {
    fields,
    before: fields.isDirty() ? before : undefined,
    failure:
      action.failure === dismissed
        ? undefined
        : inPlace(fields.general(action.failure), text.conflict),
    isRunning: action.isRunning,
    begin: () =>
      setBegunAt((version) => (fields.isDirty() ? (version ?? list?.version) : undefined)),
    renew: () => setBegunAt(undefined),
    edit(values, focus) {
      setBegunAt(list?.version);
      setDismissed(action.failure);
      fields.setValues(values);
      fields.getInputNode(focus)?.focus();
    },
    send: (values) => void send(values),
  };
}

/** The forms come first on the page, above a list that may have a thousand prefixes. */
export function ByPrefix({ children }: { children: ReactNode }) {
  return <div className={classes["byPrefix"]}>{children}</div>;
}

/** The hint goes below its field, so that fields side by side are aligned. */
const HINT_BELOW: TextInputProps["inputWrapperOrder"] = ["label", "input", "description", "error"];

type SetProps<Values extends Record<string, unknown>, Row> = {
  setting: Setting<Values, Row>;
  title: string;
  submit: string;
  /** The present setting that would be replaced. */
  replaces: string | undefined;
  /** The inputs beside the prefix. */
  children: ReactNode;
};

export function SetByPrefix<Values extends Keyed & Record<string, unknown>, Row>(
  props: SetProps<Values, Row>,
) {
  const { title, submit, replaces, children } = props;
  const { fields, failure, isRunning, begin, send } = props.setting;
  const prefix = fields.getInputProps("prefix");
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <form onChange={begin} onSubmit={fields.submit(send)} noValidate>
        <Stack gap="sm">
          <Title order={2} size="h5">
            {title}
          </Title>
          {failure && <FailureLine failure={failure} />}
          <Group align="flex-start" gap="sm" className={classes["fields"]}>
            <TextInput
              label={text.prefix}
              description={text.prefixHint}
              inputWrapperOrder={HINT_BELOW}
              inputMode="numeric"
              {...prefix}
              onChange={({ currentTarget }) => prefix.onChange(bareOf(currentTarget.value))}
            />
            {children}
          </Group>
          <Text size="sm" role="status" className={classes["status"]}>
            {replaces !== undefined && text.replaces(replaces)}
          </Text>
          <Group>
            <Button type="submit" variant="default" loading={isRunning}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}

type Props = {
  title: string;
  /** The version of the list that is shown: the answer holds only for that one. */
  version: number | undefined;
  find: (recipient: string) => Promise<string>;
};

/** Asks the service what would apply to a real send to a number. */
export function Finder({ title, version, find }: Props) {
  const fields = useFields({ recipient: "" }, {});
  const { recipient } = fields.values;
  const id = useId();
  const [found, setFound] = useState<{
    says: string;
    recipient: string;
    version: typeof version;
  }>();
  const look = useAction((number: string) => find(number.replaceAll(/\D/g, "")));
  const send = fields.submit(async () => {
    const outcome = await look.run(recipient);
    setFound(outcome?.ok ? { says: outcome.result, recipient, version } : undefined);
    return outcome;
  });
  // A result found before the list loaded stays valid until the list changes.
  if (found && found.version === undefined && version !== undefined)
    setFound({ ...found, version });
  const isCurrent = found?.recipient === recipient && found.version === version;
  const input = fields.getInputProps("recipient");
  const failure = fields.general(look.failure);
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <form onSubmit={send} noValidate>
        <Stack gap="sm">
          <Title order={2} size="h5">
            {title}
          </Title>
          {failure && <FailureLine failure={failure} />}
          {/* Wraps both, so that the button stays beside the field if there is an error below. */}
          <Input.Wrapper label={text.number} error={input.error} id={id}>
            <Group align="flex-start" gap="sm" wrap="nowrap">
              <Input {...input} flex="0 1 18rem" miw={0} type="tel" inputMode="tel" />
              <Button type="submit" variant="default" loading={look.isRunning} flex="none">
                {text.find}
              </Button>
            </Group>
          </Input.Wrapper>
          <Text role="status" size="sm" className={classes["status"]}>
            {isCurrent && found?.says}
          </Text>
        </Stack>
      </form>
    </Paper>
  );
}
