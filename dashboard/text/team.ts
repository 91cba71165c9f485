import type { MemberRole } from "#contract";

export const teamText = {
  title: "Team",
  lead: "Who has access to this account, and in which role.",
  members: "Members",
  memberPages: "Pages of the members",
  invite: "Invite someone",
  columns: {
    name: "Name",
    role: "Role",
    secondFactor: "Second factor",
    lastSeen: "Last seen",
    actions: "Actions",
  },
  on: "On",
  off: "Off",
  you: "you",
  roles: { viewer: "Viewer", developer: "Developer", owner: "Owner" } satisfies Record<
    MemberRole,
    string
  >,
  changeRole: "Change role",
  changeRoleOf: (name: string) => `Change role of ${name}`,
  remove: "Remove",
  removeNamed: (name: string) => `Remove ${name}`,
  leave: "Leave account",
  lastOwner: "You are the only owner. Make someone else an owner first.",
  onlyYou: "Only you",
  onlyYouHint: "Invite someone: they get a link that works once, for 48 hours.",
  invitations: "Open invitations",
  invitationPages: "Pages of the open invitations",
  invitationColumns: {
    forWhom: "For whom",
    role: "Role",
    by: "Invited by",
    expires: "Expires",
    actions: "Actions",
  },
  withdraw: "Withdraw",
  withdrawText: "Its link stops working at once. You can create another.",
  withdrawn: "Invitation withdrawn",
  withdrawnHint: "Its link no longer works.",
  withdrawNamed: (forWhom: string | null, role: string) =>
    `Withdraw the invitation ${forWhom === null ? "" : `of ${forWhom} `}as ${role}`,
  rolesTitle: "What each role may do",
  rolesColumns: { may: "Permission" },
  rights: [
    ["See overview, messages, webhooks, credits, keys and team", "masked", "yes", "yes"],
    ["Compose, cancel, replay, send test events", "", "yes", "yes"],
    ["Create and revoke keys, reveal and rotate the signing secret", "", "yes", "yes"],
    ["Invite, change roles, remove members, account settings", "", "", "yes"],
  ],
  yes: "Yes",
  no: "No",
  masked: "Masked",
  maskedHint: "Masked: numbers show only their last four digits, and texts are hidden.",
  expires: "Expires",
} as const;

export const inviteText = {
  title: "Invite someone",
  role: "Role",
  roleHints: {
    viewer: "Sees everything, with numbers and texts masked",
    developer: "Sends, creates keys, works with webhooks",
    owner: "Also invites people and changes the account",
  } satisfies Record<MemberRole, string>,
  forWhom: "For whom",
  forWhomHint: "Optional. Tells open invitations apart; whoever opens the link sees it.",
  submit: "Create link",
  linkTitle: "Share this link",
  linkLead: "It works once, for 48 hours, and is shown only this once. No e-mail is sent.",
  link: "Invitation link",
} as const;

export const memberText = {
  roleTitle: (name: string) => `Change the role of ${name}`,
  roleHint: "This ends all their sessions; they sign in again with the new role.",
  roleChanged: (name: string, role: string) => `${name} is now ${role}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: "Their sessions end at once. Keys that they created keep working.",
  removed: (name: string) => `${name} was removed`,
  removedHint: "Their next request is refused.",
  leaveTitle: "Leave this account?",
  leaveText: "You can come back only with a new invitation.",
  leaveSubmit: "Leave",
  lastSeen: "Last seen",
} as const;
