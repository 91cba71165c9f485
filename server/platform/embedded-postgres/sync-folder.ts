import { open } from "node:fs/promises";

/** Makes files created or renamed in the folder survive a crash of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}
