import { Button, Group, PasswordInput, Stack, Switch, Text, TextInput } from "@mantine/core";
import { Radio, useMantineColorScheme } from "@mantine/core";
import { Suspense, useState } from "react";
import { call } from "../api.ts";
import { checkName, checkNewPassword } from "../fields.ts";
import { browserZone, countOf, zoneName } from "../format.ts";
import type { Failure } from "../failure.ts";
import { part } from "../parts.ts";
import { useMe } from "../session.ts";
import type { Theme } from "../shell/user-menu.tsx";
import { profileText as text } from "../text/settings.ts";
import { shellText } from "../text/shell.ts";
import { fieldText } from "../text/sign-in.ts";
import { words } from "../text/words.ts";
import { FailureLine } from "../ui/failure-panel.tsx";
import { Page } from "../ui/page.tsx";
import { toast } from "../ui/toasts.tsx";
import { useFields } from "../ui/use-fields.ts";
import { useAction } from "../use-action.ts";
import { useFormFields } from "../use-draft-fields.ts";
import { useSaveMe } from "../use-save-me.ts";
import type { FactorDialog } from "./profile/second-factor.tsx";
import { Part } from "./profile/part.tsx";
import { Sessions } from "./profile/sessions.tsx";

const SecondFactorDialog = part(() => import("./profile/second-factor.tsx"), "SecondFactorDialog");

export function ProfilePage() {
  return (
    <Page title={text.title} hasTimes>
      <Stack gap="xl" maw="40rem">
        <NamePart />
        <PreferencesPart />
        <PasswordPart />
        <SecondFactorPart />
        <Sessions />
      </Stack>
    </Page>
  );
}

function NamePart() {
  const me = useMe();
  const fields = useFormFields("profile", { name: me.name }, { name: checkName });
  const save = useSaveMe();
  async function send({ name }: { name: string }): Promise<void> {
    const outcome = await save.run({ name: name.trim() });
    if (outcome?.ok === false) fields.take(outcome.failure);
    if (outcome?.ok) toast({ title: text.saved, message: text.savedHint });
  }
  const failure = fields.general(save.failure);
  return (
    <Part title={text.you}>
      <form onSubmit={fields.submit((values) => void send(values))} noValidate>
        <Stack gap="md">
          {failure && <FailureLine failure={failure} />}
          <TextInput label={text.name} autoComplete="name" {...fields.getInputProps("name")} />
          <TextInput label={text.email} description={text.emailHint} value={me.email} readOnly />
          <Group>
            <Button type="submit" loading={save.isRunning}>
              {words.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Part>
  );
}

const THEMES: Theme[] = ["system", "light", "dark"];

function PreferencesPart() {
  const { preferences } = useMe();
  const { setColorScheme } = useMantineColorScheme();
  const save = useSaveMe();
  function chooseTheme(theme: Theme): void {
    setColorScheme(theme === "system" ? "auto" : theme);
    void save.run({ preferences: { theme } });
  }
  return (
    <Part title={text.preferences}>
      <Stack gap="md">
        {save.failure && <FailureLine failure={save.failure} />}
        <Radio.Group
          label={text.theme}
          value={preferences.theme}
          onChange={(theme) => chooseTheme(theme as Theme)}
        >
          <Group mt="xs">
            {THEMES.map((theme) => (
              <Radio key={theme} value={theme} label={shellText.themes[theme]} />
            ))}
          </Group>
        </Radio.Group>
        <Radio.Group
          label={text.zone}
          value={preferences.zone}
          onChange={(zone) => void save.run({ preferences: { zone: zone as "browser" | "utc" } })}
        >
          <Group mt="xs">
            <Radio value="browser" label={text.zones.browser(zoneName(browserZone()))} />
            <Radio value="utc" label={text.zones.utc} />
          </Group>
        </Radio.Group>
        <Switch
          label={text.shortcuts}
          description={text.shortcutsHint}
          checked={preferences.shortcuts}
          onChange={(event) =>
            void save.run({ preferences: { shortcuts: event.currentTarget.checked } })
          }
        />
      </Stack>
    </Part>
  );
}

type Passwords = { currentPassword: string; newPassword: string };
const NO_PASSWORDS: Passwords = { currentPassword: "", newPassword: "" };

function PasswordPart() {
  const { email } = useMe();
  const fields = useFields<Passwords>(NO_PASSWORDS, {
    currentPassword: (value) => (value === "" ? fieldText.passwordNeeded : null),
    newPassword: checkNewPassword,
  });
  const change = useAction((body: Passwords) => call("POST /console/auth/password", { body }));
  async function send(values: Passwords): Promise<void> {
    const outcome = await change.run(values);
    if (outcome?.ok === false) refuse(outcome.failure);
    if (!outcome?.ok) return;
    fields.setValues(NO_PASSWORDS);
    toast({ title: text.passwordChanged, message: text.passwordChangedHint });
  }
  function refuse(failure: Failure): void {
    if (failure.code !== "PROOF_FAILED") return fields.take(failure);
    fields.setFieldError("currentPassword", text.wrongPassword);
    fields.getInputNode("currentPassword")?.focus();
  }
  const isAtField = change.failure?.code === "PROOF_FAILED";
  const failure = isAtField ? undefined : fields.general(change.failure);
  const toggle = { "aria-label": words.showPassword };
  return (
    <Part title={text.password}>
      <form onSubmit={fields.submit((values) => void send(values))} noValidate>
        <Stack gap="md">
          {failure && <FailureLine failure={failure} />}
          <input type="hidden" autoComplete="username" value={email} readOnly />
          <PasswordInput
            label={text.currentPassword}
            autoComplete="current-password"
            visibilityToggleButtonProps={toggle}
            {...fields.getInputProps("currentPassword")}
          />
          <PasswordInput
            label={text.newPassword}
            description={text.newPasswordHint}
            autoComplete="new-password"
            visibilityToggleButtonProps={toggle}
            {...fields.getInputProps("newPassword")}
          />
          <Group>
            <Button type="submit" variant="default" loading={change.isRunning}>
              {text.changePassword}
            </Button>
          </Group>
        </Stack>
      </form>
    </Part>
  );
}

function SecondFactorPart() {
  const { hasSecondFactor, recoveryCodesLeft } = useMe();
  const [dialog, setDialog] = useState<FactorDialog>();
  const says = hasSecondFactor
    ? text.secondFactorOn(countOf(recoveryCodesLeft, "recovery code"))
    : text.secondFactorOff;
  return (
    <Part title={text.secondFactor}>
      <Stack gap="md">
        <Text size="sm">{says}</Text>
        <Group>
          {hasSecondFactor ? (
            <>
              <Button variant="default" onClick={() => setDialog("codes")}>
                {text.renewCodes}
              </Button>
              <Button variant="default" onClick={() => setDialog("off")}>
                {text.switchOff}
              </Button>
            </>
          ) : (
            <Button variant="default" onClick={() => setDialog("on")}>
              {text.switchOn}
            </Button>
          )}
        </Group>
      </Stack>
      <Suspense>
        {dialog && <SecondFactorDialog dialog={dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </Part>
  );
}
