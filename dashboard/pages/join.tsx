import { Button, Stack } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type Answer, call } from "../api.ts";
import type { Failure } from "../failure.ts";
import { checkEmail, checkName, checkNewPassword } from "../fields.ts";
import { forgetLinkToken } from "../link-token.ts";
import { meOptions } from "../session.ts";
import { useSignOut } from "../shell/user-menu.tsx";
import { linkText as text } from "../text/sign-in.ts";
import { FailureLine } from "../ui/failure-panel.tsx";
import { ButtonLink } from "../ui/link.tsx";
import { PublicPage } from "../ui/public-page.tsx";
import { useFields } from "../ui/use-fields.ts";
import { useAction } from "../use-action.ts";
import { type NewUser, NewUserFields } from "./new-user-fields.tsx";
import { OneTimeLink } from "./one-time-link.tsx";

/** An invitation, for a new user or for the one who is signed in. */
export function JoinPage() {
  return (
    <OneTimeLink kind="invitation" title={text.joinTitle}>
      {(token, link) => <Invitation token={token} link={link} />}
    </OneTimeLink>
  );
}

type Link = Answer<"POST /console/links/read">;

function Invitation({ token, link }: { token: string; link: Link }) {
  const me = useQuery({ ...meOptions, retry: false, gcTime: 0 });
  const client = useQueryClient();
  const navigate = useNavigate();
  const join = useAction((user: Partial<NewUser>) =>
    call("POST /console/links/join", { body: { token, ...user } }),
  );
  // Stay on this page: it has the link's token, which is no longer anywhere else.
  const signOut = useSignOut(() => client.resetQueries());

  async function send(user: Partial<NewUser>) {
    const outcome = await join.run(user);
    if (!outcome?.ok) return outcome?.failure;
    forgetLinkToken();
    client.clear();
    await navigate({ to: "/", search: { account: outcome.result.accountId }, replace: true });
    return undefined;
  }
  const lead = text.joinLead(link.inviter ?? "", link.accountName ?? "", link.role ?? "");
  const forWhom = link.forWhom && text.joinFor(link.forWhom);
  return (
    <PublicPage title={text.joinTitle} lead={[lead, forWhom].filter(Boolean).join(" ")}>
      {me.data ? (
        <Stack gap="md">
          {join.failure && <FailureLine failure={join.failure} />}
          <Button loading={join.isRunning} onClick={() => void send({})}>
            {text.joinAs(me.data.name)}
          </Button>
          <Button
            variant="subtle"
            loading={signOut.isRunning}
            onClick={() => void signOut.run(undefined)}
          >
            {text.otherUser(me.data.name)}
          </Button>
        </Stack>
      ) : (
        <NewUserForm action={join} send={send} />
      )}
    </PublicPage>
  );
}

type FormProps = {
  action: { failure: Failure | undefined; isRunning: boolean };
  send: (user: NewUser) => Promise<Failure | undefined>;
};

function NewUserForm({ action, send }: FormProps) {
  const fields = useFields<NewUser>(
    { name: "", email: "", password: "" },
    { name: checkName, email: checkEmail, password: checkNewPassword },
  );
  async function submit(user: NewUser): Promise<void> {
    const refused = await send(user);
    if (refused) fields.take(refused);
  }
  const failure = fields.general(action.failure);
  return (
    <form onSubmit={fields.submit((values) => void submit(values))} noValidate>
      <Stack gap="md">
        {failure && <FailureLine failure={failure} />}
        <NewUserFields inputProps={fields.getInputProps} />
        <Button type="submit" loading={action.isRunning}>
          {text.join}
        </Button>
        <ButtonLink to="/sign-in" search={{ next: "/join" }} variant="subtle">
          {text.haveUser}
        </ButtonLink>
      </Stack>
    </form>
  );
}
