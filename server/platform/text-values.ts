// Each of these parses a text, or throws an error that continues its name: "must be …".

export function text(value: string): string {
  if (value.trim() === "") throw new Error("must not be empty.");
  return value;
}

export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return (value: string): number => {
    const number = /^-?\d+$/.test(value.trim()) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    const range =
      most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
    throw new Error(`must be a whole number ${range}, not "${value}".`);
  };
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]) {
  return (value: string): Choice => {
    const choice = choices.find((each) => each === value);
    if (choice === undefined)
      throw new Error(`must be one of ${choices.join(", ")}, not "${value}".`);
    return choice;
  };
}
