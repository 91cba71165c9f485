import { Button, Group, Loader, Stack, Stepper, Text, TextInput } from "@mantine/core";
import { IconLinkOff, IconTerminal2 } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { flushSync } from "react-dom";
import { call, type Input } from "../api.ts";
import { toFailure } from "../failure.ts";
import { checkEmail, checkName, checkNewPassword } from "../fields.ts";
import { formatNumber } from "../format.ts";
import { forgetLinkToken, useLinkToken } from "../link-token.ts";
import { setupText as text } from "../text/sign-in.ts";
import { Empty } from "../ui/empty.tsx";
import { FailureLine, FailurePanel } from "../ui/failure-panel.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { PublicPage } from "../ui/public-page.tsx";
import { useFields } from "../ui/use-fields.ts";
import { useAction } from "../use-action.ts";
import { useRead } from "../use-read.ts";
import { NewUserFields } from "./new-user-fields.tsx";

export function SetupPage() {
  const token = useLinkToken();
  return (
    <PublicPage title={text.title}>
      {token === undefined ? <NoLink /> : <CheckedLink token={token} key={token} />}
    </PublicPage>
  );
}

function NoLink() {
  return (
    <Empty icon={<IconTerminal2 aria-hidden />} title={text.noLink} description={text.noLinkHint}>
      <ButtonLink to="/sign-in" search={{ next: "/" }} variant="default">
        {text.haveUser}
      </ButtonLink>
    </Empty>
  );
}

function CheckedLink({ token }: { token: string }) {
  const link = useQuery({
    queryKey: ["set-up link"],
    queryFn: () => call("POST /console/links/read", { body: { token } }, { onlyReads: true }),
    retry: false,
    gcTime: 0,
    // Read only once, so that what is typed below stays even if the service goes away.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (link.data?.kind === "setup") return <SetupForm token={token} />;
  if (link.data) return <WrongLink />;
  if (link.error) {
    const failure = toFailure(link.error);
    if (failure.code === "LINK_INVALID") return <WrongLink />;
    return <FailurePanel failure={failure} onRetry={() => void link.refetch()} />;
  }
  return (
    <Group role="status">
      <Loader size="sm" aria-hidden />
      <Text>{text.checking}</Text>
    </Group>
  );
}

function WrongLink() {
  return (
    <Empty
      icon={<IconLinkOff aria-hidden />}
      title={text.wrongLink}
      description={text.wrongLinkHint}
    />
  );
}

/** Somebody else was first, in another tab or on another machine. */
function DoneAlready() {
  return (
    <Empty icon={<IconTerminal2 aria-hidden />} title={text.done} description={text.doneHint}>
      <ButtonLink to="/sign-in">{text.toSignIn}</ButtonLink>
    </Empty>
  );
}

type Values = Omit<Input<"POST /console/setup">["body"], "token">;
const OPERATOR_FIELDS = ["name", "email", "password"] as const;

function SetupForm({ token }: { token: string }) {
  const [step, setStep] = useState(0);
  const client = useQueryClient();
  const navigate = useNavigate();
  const fields = useFields<Values>(
    { name: "", email: "", password: "", accountName: "" },
    {
      name: checkName,
      email: checkEmail,
      password: checkNewPassword,
      accountName: (value) => (step === 1 ? checkName(value) : null),
    },
  );
  const finish = useAction((values: Values) =>
    call("POST /console/setup", { body: { token, ...values } }),
  );

  if (finish.failure?.code === "LINK_INVALID") return <WrongLink />;
  if (finish.failure?.status === 404) return <DoneAlready />;
  async function send(values: Values): Promise<void> {
    if (step === 0) return setStep(1);
    const outcome = await finish.run(values);
    if (outcome?.ok === false) {
      const isOperators = outcome.failure.details.some(({ field }) =>
        OPERATOR_FIELDS.some((name) => name === field),
      );
      // Synchronously: the wrong field must exist before the focus goes to it.
      if (isOperators) flushSync(() => setStep(0));
      fields.take(outcome.failure);
    }
    if (!outcome?.ok) return;
    forgetLinkToken();
    client.clear();
    await navigate({ to: "/", replace: true });
  }
  const failure = fields.general(finish.failure);
  return (
    <form onSubmit={fields.submit((values) => void send(values))} noValidate>
      <Stack gap="md">
        <Stepper active={step} size="sm" allowNextStepsSelect={false} aria-hidden>
          {text.steps.map((name) => (
            <Stepper.Step key={name} label={name} />
          ))}
        </Stepper>
        {failure && <FailureLine failure={failure} />}
        {step === 0 ? <OperatorStep fields={fields} /> : <AccountStep fields={fields} />}
        <Group justify="space-between">
          {step === 1 ? (
            <Button variant="default" onClick={() => setStep(0)}>
              {text.back}
            </Button>
          ) : (
            <span />
          )}
          <Button type="submit" loading={finish.isRunning}>
            {step === 0 ? text.next : text.finish}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type StepProps = { fields: ReturnType<typeof useFields<Values>> };

function OperatorStep({ fields }: StepProps) {
  return (
    <Stack gap="md" key="operator">
      <Text c="dimmed" size="sm">
        {text.operatorLead}
      </Text>
      <NewUserFields inputProps={fields.getInputProps} />
    </Stack>
  );
}

function AccountStep({ fields }: StepProps) {
  const setup = useRead("GET /console/setup", {});
  return (
    <Stack gap="md" key="account">
      <Text c="dimmed" size="sm">
        {text.accountLead(formatNumber(setup.data?.credits ?? 0))}
      </Text>
      <TextInput
        label={text.accountName}
        withAsterisk
        description={text.accountHint}
        name="organization"
        autoComplete="organization"
        autoFocus
        {...fields.getInputProps("accountName")}
      />
    </Stack>
  );
}
