import type { Locator, Page } from "playwright-core";

/** Sends a form and drops the answer: the service has done it, and the page says it cannot know. */
export async function sendUnanswered(page: Page, submit: Locator, asks: string): Promise<void> {
  await page.route(asks, async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    await route.fetch();
    return route.abort("internetdisconnected");
  });
  await submit.click();
  await page.getByText("your change may or may not have been made").waitFor();
  await page.unroute(asks);
}
