import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api.ts";
import { checkPresent } from "../fields.ts";
import { parseSearch } from "../search.ts";
import { meOptions } from "../session.ts";
import { fieldText, signInText as text } from "../text/sign-in.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "../ui/failure-panel.tsx";
import { PublicPage } from "../ui/public-page.tsx";
import { useFields } from "../ui/use-fields.ts";
import { useAction } from "../use-action.ts";
import { toFailure } from "../failure.ts";

export function SignInPage() {
  // Always asked again: what is cached may belong to a session that has just ended.
  const me = useQuery({ ...meOptions, retry: false, refetchOnMount: "always" });
  const [step, setStep] = useState<"password" | "code">();
  const isPending = me.error !== null && toFailure(me.error).code === "SECOND_FACTOR_REQUIRED";
  const shown = step ?? (isPending ? "code" : "password");
  const isIn = me.isFetchedAfterMount && me.error === null && me.data !== undefined;
  if (isIn) return <AlreadyIn name={me.data.name} />;
  if (shown === "code") return <CodeStep onBack={() => setStep("password")} />;
  return <PasswordStep onCode={() => setStep("code")} />;
}

/** After signing in, discards the cache and opens the page that was wanted. */
function useGoOn(): () => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { next = "/" } = useSearch({ from: "/sign-in" });
  return async () => {
    client.clear();
    const { pathname, search } = new URL(next, location.origin);
    await navigate({ to: pathname, search: parseSearch(search), replace: true });
  };
}

function AlreadyIn({ name }: { name: string }) {
  const goOn = useGoOn();
  return (
    <PublicPage title={text.title} lead={text.already(name)}>
      <Button onClick={() => void goOn()}>{text.goOn}</Button>
    </PublicPage>
  );
}

function PasswordStep({ onCode }: { onCode: () => void }) {
  const goOn = useGoOn();
  const hasEnded = useLocation({ select: ({ state }) => state.hasEnded === true });
  const fields = useFields(
    { email: "", password: "" },
    {
      email: checkPresent(fieldText.emailNeeded),
      password: (value) => (value === "" ? fieldText.passwordNeeded : null),
    },
  );
  const signIn = useAction((body: { email: string; password: string }) =>
    call("POST /console/auth/sign-in", { body }),
  );

  async function send(values: { email: string; password: string }): Promise<void> {
    const outcome = await signIn.run(values);
    if (outcome?.ok === false) {
      fields.setFieldValue("password", "");
      fields.getInputNode("password")?.focus();
    }
    if (outcome?.ok && outcome.result.state === "second_factor_required") onCode();
    if (outcome?.ok && outcome.result.state === "signed_in") await goOn();
  }
  return (
    <PublicPage title={text.title} lead={hasEnded && text.ended}>
      <form onSubmit={fields.submit((values) => void send(values))} noValidate>
        <Stack gap="md">
          {signIn.failure && (
            <FailureLine failure={signIn.failure} key={signIn.failure.requestId} />
          )}
          <TextInput
            label={text.email}
            type="email"
            name="email"
            autoComplete="username"
            autoFocus
            {...fields.getInputProps("email")}
          />
          <PasswordInput
            label={text.password}
            name="password"
            autoComplete="current-password"
            visibilityToggleButtonProps={{ "aria-label": words.showPassword }}
            {...fields.getInputProps("password")}
          />
          <Button type="submit" loading={signIn.isRunning}>
            {text.submit}
          </Button>
          <Text size="sm" c="dimmed">
            {text.forgot}
          </Text>
        </Stack>
      </form>
    </PublicPage>
  );
}

function CodeStep({ onBack }: { onBack: () => void }) {
  const goOn = useGoOn();
  const fields = useFields({ code: "" }, { code: checkPresent(fieldText.codeNeeded) });
  const give = useAction((code: string) =>
    call("POST /console/auth/second-factor", { body: { code } }),
  );
  const back = useAction(() => call("POST /console/auth/sign-out", {}));

  async function send({ code }: { code: string }): Promise<void> {
    const outcome = await give.run(code);
    if (outcome?.ok) await goOn();
    else fields.getInputNode("code")?.focus();
  }
  return (
    <PublicPage title={text.codeTitle} lead={text.codeLead}>
      <form onSubmit={fields.submit((values) => void send(values))} noValidate>
        <Stack gap="md">
          {give.failure && <FailureLine failure={give.failure} key={give.failure.requestId} />}
          <TextInput
            label={text.code}
            name="code"
            autoComplete="one-time-code"
            inputMode="text"
            autoFocus
            translate="no"
            spellCheck={false}
            {...fields.getInputProps("code")}
          />
          <Button type="submit" loading={give.isRunning}>
            {text.codeSubmit}
          </Button>
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => void back.run(undefined).then(onBack)}
          >
            {text.otherUser}
          </Anchor>
        </Stack>
      </form>
    </PublicPage>
  );
}
