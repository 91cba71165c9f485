import type { Site } from "./site.ts";
import type { Tab } from "./tab.ts";

/** The link that the page shows only now; from here on, no other answer may contain it. */
export async function shownLink(
  { secrets }: Site,
  { page }: Tab,
  { label, answer }: { label: string; answer: RegExp },
): Promise<string> {
  const link = (await page.getByRole("dialog").getByLabel(label).textContent()) ?? "";
  secrets.set(link.split("#token=")[1] ?? link, answer);
  return link;
}

/** Copies what is shown once and closes its dialog, which then asks nothing more. */
export async function copyAndClose({ page }: Tab, copy: "Copy link" | "Copy key"): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: copy }).click();
  await dialog.getByRole("button", { name: "Copied" }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
}
