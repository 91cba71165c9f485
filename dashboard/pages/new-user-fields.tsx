import { PasswordInput, TextInput } from "@mantine/core";
import { setupText as text } from "../text/sign-in.ts";
import { words } from "../text/words.ts";

export type NewUser = { name: string; email: string; password: string };

type Props = { inputProps: (name: keyof NewUser) => object };

/** Name, e-mail and password of a new user. */
export function NewUserFields({ inputProps }: Props) {
  return (
    <>
      <TextInput
        label={text.name}
        withAsterisk
        name="name"
        autoComplete="name"
        autoFocus
        {...inputProps("name")}
      />
      <TextInput
        label={text.email}
        withAsterisk
        description={text.emailHint}
        name="email"
        type="email"
        autoComplete="username"
        {...inputProps("email")}
      />
      <PasswordInput
        label={text.password}
        withAsterisk
        description={text.passwordHint}
        name="password"
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": words.showPassword }}
        {...inputProps("password")}
      />
    </>
  );
}
