export const noAccountText = {
  none: "You are not a member of any account",
  noneHint: "Ask an owner for an invitation link, or the operator for an account.",
  notFound: "No such account",
  notFoundHint: "You are not a member of the account that this address names.",
  openMine: "Open my account",
  openOperator: "Open the operator's pages",
} as const;
