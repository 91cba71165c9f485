import { Button, PasswordInput, Stack } from "@mantine/core";
import { useState } from "react";
import { type Answer, call } from "../api.ts";
import { checkNewPassword } from "../fields.ts";
import { linkText as text, setupText, signInText } from "../text/sign-in.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "../ui/failure-panel.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { PublicPage } from "../ui/public-page.tsx";
import { useFields } from "../ui/use-fields.ts";
import { useAction } from "../use-action.ts";
import { OneTimeLink } from "./one-time-link.tsx";

/** Sets a new password by a link that the operator made. */
export function ResetPage() {
  return (
    <OneTimeLink kind="reset" title={text.resetTitle}>
      {(token, link) => <NewPassword token={token} link={link} />}
    </OneTimeLink>
  );
}

type Props = { token: string; link: Answer<"POST /console/links/read"> };

function NewPassword({ token, link }: Props) {
  const [isDone, setIsDone] = useState(false);
  const fields = useFields({ password: "" }, { password: checkNewPassword });
  const reset = useAction(
    ({ password }: { password: string }) =>
      call("POST /console/links/reset", { body: { token, password } }),
    () => setIsDone(true),
  );
  if (isDone) {
    return (
      <PublicPage title={text.resetTitle} lead={signInText.passwordChanged}>
        <ButtonLink to="/sign-in" autoFocus>
          {text.toSignIn}
        </ButtonLink>
      </PublicPage>
    );
  }
  const failure = fields.general(reset.failure);
  const lead = [text.resetLead(link.email ?? ""), link.dropsSecondFactor && text.dropsSecondFactor]
    .filter(Boolean)
    .join(" ");
  return (
    <PublicPage title={text.resetTitle} lead={lead}>
      <form onSubmit={fields.submit(reset.run)} noValidate>
        <Stack gap="md">
          {failure && <FailureLine failure={failure} />}
          <input
            type="hidden"
            name="email"
            autoComplete="username"
            value={link.email ?? ""}
            readOnly
          />
          <PasswordInput
            label={text.newPassword}
            description={setupText.passwordHint}
            name="password"
            autoComplete="new-password"
            autoFocus
            visibilityToggleButtonProps={{ "aria-label": words.showPassword }}
            {...fields.getInputProps("password")}
          />
          <Button type="submit" loading={reset.isRunning}>
            {text.resetSubmit}
          </Button>
        </Stack>
      </form>
    </PublicPage>
  );
}
