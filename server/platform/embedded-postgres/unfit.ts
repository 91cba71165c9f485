/**
 * The surroundings do not allow a start: the disk, the folder, the port, the database, the settings.
 * The message says what to do; it is shown without a stack.
 */
export class Unfit extends Error {
  override name = "Unfit";
}
