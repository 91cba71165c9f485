/**
 * The environment does not allow a start: the disk, the folder, the port, the database or a
 * setting. The message says what to do, and is shown without a stack.
 */
export class Unfit extends Error {
  override name = "Unfit";
}

/** For a file of the data folder. */
export function cannotOpen(path: string, { code }: NodeJS.ErrnoException): Unfit {
  // Mostly root made it, by a command or when it restored a backup.
  const isNotOurs = code === "EACCES" || code === "EPERM";
  const advice = isNotOurs
    ? " Give the data folder and all it holds to the user that runs Posthorn."
    : "";
  return new Unfit(`${path} cannot be opened (${code}).${advice}`);
}
