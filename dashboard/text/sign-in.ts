export const signInText = {
  title: "Sign in",
  ended: "Your session has ended. Sign in to continue where you were.",
  email: "E-mail",
  password: "Password",
  submit: "Sign in",
  codeTitle: "Enter your code",
  codeLead: "The 6-digit code of your authenticator, or one of your recovery codes.",
  code: "Code",
  codeSubmit: "Continue",
  otherUser: "Sign in as someone else",
  forgot: "Forgot the password? The operator of this installation can make you a reset link.",
  already: (name: string) => `You are signed in as ${name}.`,
  goOn: "Continue",
  passwordChanged: "Your password is set. Sign in with it.",
} as const;

export const setupText = {
  title: "Set up Posthorn",
  noLink: "Open the link from the terminal",
  noLinkHint:
    "When Posthorn starts it prints a link that begins with this address and ends with a token. Open that link in this browser.",
  haveUser: "I already have a user",
  wrongLink: "This link does not work",
  wrongLinkHint:
    "It is wrong, was already used, or is out of date. Restart Posthorn: while there is no operator, each start prints a new link.",
  done: "Posthorn is already set up",
  doneHint: "Someone has finished it, with this link or another. Sign in with their user.",
  toSignIn: "Sign in",
  checking: "Checking the link",
  steps: ["Operator", "First account"],
  operatorLead: "You run this installation: you create accounts, top up credits and see carriers.",
  accountLead: (credits: string) =>
    `It starts with ${credits} credits and the simulator, and you are its owner.`,
  name: "Your name",
  email: "E-mail",
  emailHint: "You sign in with it. No e-mail is ever sent.",
  password: "Password",
  passwordHint: "At least 12 characters, and hard to guess: several words will do.",
  accountName: "Account name",
  accountHint: "Your team, product or company.",
  next: "Next",
  back: "Back",
  finish: "Finish set-up",
} as const;

export const linkText = {
  joinTitle: "Join an account",
  joinLead: (inviter: string, account: string, role: string) =>
    `${inviter} invites you to the account ${account} as ${role}.`,
  joinFor: (name: string) => `The link is meant for ${name}.`,
  joinAs: (name: string) => `Join as ${name}`,
  join: "Join",
  haveUser: "I already have a user here: sign in first",
  otherUser: (name: string) => `Not ${name}? Sign out`,
  resetTitle: "Set a new password",
  resetLead: (email: string) => `For ${email}. This ends all sessions of this user.`,
  dropsSecondFactor: "This also switches off your second factor.",
  resetSubmit: "Set password",
  newPassword: "New password",
  wrongLink: "This link does not work",
  wrongLinkHint:
    "It is wrong, was already used, was withdrawn, or is older than 48 hours. Ask for a new one.",
  noLink: "The link is not complete",
  noLinkHint: "Copy the whole link, with everything behind the #, and open it again.",
  toSignIn: "Go to sign-in",
} as const;

export const fieldText = {
  nameNeeded: "Enter a name.",
  nameLong: "At most 60 characters.",
  emailNeeded: "Enter an e-mail address such as ada@example.com.",
  passwordNeeded: "Enter your password.",
  passwordShort: "At least 12 characters.",
  passwordLong: "At most 128 characters.",
  codeNeeded: "Enter the code.",
  wholeNumber: "Enter a whole number of 0 or more.",
} as const;
