export const proofText = {
  lead: "To continue, confirm that it is you.",
  password: "Your password",
  code: "Code of your second factor",
  useCode: "Use a code instead",
  usePassword: "Use the password instead",
  needed: "Enter it to continue.",
} as const;
