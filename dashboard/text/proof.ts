export const proofText = {
  lead: "This needs a fresh proof that it is you.",
  password: "Your password",
  code: "Code of your second factor",
  useCode: "Use a code instead",
  usePassword: "Use the password instead",
  needed: "Enter it to go on.",
} as const;
