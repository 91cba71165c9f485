import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { CDPSession, Page } from "playwright-core";
import { type MemberRole, memberRoles } from "#contract";
import { sql } from "#platform";
import { eventually } from "../support/eventually.ts";
import { type Account, type Person, type Site, startSite } from "../support/site.ts";
import type { Tab } from "../support/tab.ts";

type Role = MemberRole | "operator" | "outsider" | "stranger";

/** Who may see a page; everybody else gets a page that says so. */
type Audience = "anyone" | "user" | "member" | "operator";

type Expectation = {
  for: Audience;
  heading: string;
  /** The heading for roles that do not see recipients. */
  masked?: string;
  /** Where the page redirects to, if it does. */
  leadsTo?: string;
  /** The state of the page that shows most of its buttons. */
  search?: string;
  /** By required role: how the names of buttons, and of links that look like buttons, begin. */
  buttons?: Partial<Record<MemberRole | "operator", string[]>>;
  /** Which of the operator's sections is current. */
  section?: string;
};

const member = (heading: string, more: Partial<Expectation> = {}): Expectation => ({
  for: "member",
  heading,
  ...more,
});
const operators = (section: string, more: Partial<Expectation> = {}): Expectation => ({
  for: "operator",
  heading: "Operator",
  section,
  ...more,
});

/** Every page of dashboard/routes.tsx; a page missing here fails the tests. */
const PAGES: Record<string, Expectation> = {
  "/setup": { for: "anyone", heading: "Sign in", leadsTo: "/sign-in" },
  "/sign-in": { for: "anyone", heading: "Sign in" },
  "/join": { for: "anyone", heading: "Join an account" },
  "/reset": { for: "anyone", heading: "Set a new password" },
  "/profile": { for: "user", heading: "Profile" },
  "/": member("Overview", { buttons: { developer: ["Compose in the browser"] } }),
  "/messages": member("Messages"),
  "/messages/$messageId": member("Message to 4915112345678", {
    masked: "Message to •••••••••5678",
    buttons: { developer: ["Cancel message", "Send again"] },
  }),
  "/compose": member("Compose", { buttons: { developer: ["Send"] } }),
  "/webhooks": member("Webhooks", {
    search: "?tab=secret",
    buttons: { developer: ["Replay exhausted…", "Send test event", "Reveal", "Rotate…"] },
  }),
  "/keys": member("API keys", { buttons: { developer: ["Create key", "Replace", "Revoke"] } }),
  "/credits": member("Credits", { buttons: { operator: ["Top up"] } }),
  "/team": member("Team", {
    buttons: { owner: ["Invite someone", "Change role of", "Remove", "Withdraw the invitation"] },
  }),
  "/settings": member("Settings", { buttons: { owner: ["Save"] } }),
  "/$": member("Page not found"),
  "/operator": operators("Accounts", { leadsTo: "/operator/accounts" }),
  "/operator/accounts": operators("Accounts", {
    buttons: { operator: ["Create account", "Top up"] },
  }),
  "/operator/users": operators("Users", { buttons: { operator: ["Create a reset link"] } }),
  "/operator/carriers": operators("Carriers"),
  "/operator/routes": operators("Routes"),
  "/operator/prices": operators("Prices"),
  "/operator/queue": operators("Queue and nodes"),
  "/operator/audit": operators("Audit log"),
};

const MEMBERS_PAGES = [
  "Overview",
  "Messages",
  "Compose",
  "Webhooks",
  "API keys",
  "Credits",
  "Team",
  "Settings",
];

let site: Site;
let account: Account;
let messageId: string;
const people: Partial<Record<Role, Person>> = {};
before(async () => {
  site = await startSite();
  account = await site.account();
  for (const role of memberRoles) people[role] = await site.person(role, [[account, role]]);
  // Operators see an account with their role as a member.
  people.operator = await site.person("operator", [[account, "viewer"]], true);
  // An only owner could not leave.
  await site.person("second owner", [[account, "owner"]]);
  people.outsider = await site.person("outsider", [[account, "owner"]]);
  await site.db.query(sql`delete from memberships where user_id = ${people.outsider.userId}`);
  await site.db.query(sql`
    insert into links (link_id, kind, token_hash, account_id, role, created_by, created_at, expires_at)
    values (gen_random_uuid(), 'invitation', '\\x00', ${account.accountId}, 'viewer',
            ${people.owner?.userId}, now(), now() + interval '1 day')`);
  // Scheduled, so it can be canceled.
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const message = { recipient: "4915112345678", text: "Hello", sendAt };
  ({ messageId } = await site.send(await site.key(account), message));
});
after(() => site[Symbol.asyncDispose]());

/** What a person finds at an address. */
type Cell = {
  address: string;
  headings: string[];
  navigation: string[];
  section: string[];
  /** Those of the page's known buttons that can be pressed. */
  open: string[];
  /** Buttons that say why they cannot be pressed, each with its reason. */
  denied: string[];
};

function expected(path: string, role: Role): Cell {
  const page = pageOf(path);
  const refusal = refusalOf(page.for, role);
  const nobody = { navigation: [], section: [], open: [], denied: [] };
  if (refusal === "sign in") {
    const next = addressOf(path);
    const query = next === "/" ? "" : `?next=${encodeURIComponent(next)}`;
    return { ...nobody, address: `/sign-in${query}`, headings: ["Sign in"] };
  }
  const found = {
    ...nobody,
    address: page.leadsTo ?? addressOf(path),
    navigation: pagesOf(page, role),
  };
  if (refusal !== undefined) return { ...found, headings: [refusal] };
  const heading = isMasked(role) ? (page.masked ?? page.heading) : page.heading;
  const section = page.section ? [page.section] : [];
  return { ...found, headings: [heading], section, ...buttonsOf(page, role) };
}

function pageOf(path: string): Expectation {
  const page = PAGES[path];
  assert.ok(page, `nothing is said of who may see ${path}`);
  return page;
}

function addressOf(path: string): string {
  const filled = path.replace("$messageId", messageId).replace(/\$$/, "nowhere");
  return filled + (pageOf(path).search ?? "");
}

function refusalOf(audience: Audience, role: Role): string | undefined {
  if (audience === "anyone") return undefined;
  if (role === "stranger") return "sign in";
  if (audience === "operator") return role === "operator" ? undefined : "Page not found";
  const isOut = audience === "member" && role === "outsider";
  return isOut ? "You are not a member of any account" : undefined;
}

function pagesOf({ for: audience }: Expectation, role: Role): string[] {
  if (audience === "anyone" || role === "stranger" || role === "outsider") return [];
  return [...MEMBERS_PAGES, ...(role === "operator" ? ["Operator"] : []), "API reference"];
}

/** The installation's operator is a viewer of this account. */
const asMember = (role: Role) => (role === "operator" ? "viewer" : role);
const isMasked = (role: Role) => asMember(role) === "viewer";

function buttonsOf({ buttons = {} }: Expectation, role: Role): Pick<Cell, "open" | "denied"> {
  const { operator = [], ...others } = buttons;
  const open = role === "operator" ? [...operator] : [];
  const denied: string[] = [];
  const has = memberRoles.indexOf(asMember(role) as MemberRole);
  for (const [needed, names] of Object.entries(others) as [MemberRole, string[]][]) {
    if (has >= memberRoles.indexOf(needed)) open.push(...names);
    else denied.push(...names.map((name) => `${name}: ${reasonOf(needed, role)}`));
  }
  return { open: open.toSorted(), denied: denied.toSorted() };
}

const reasonOf = (needed: MemberRole, role: Role) =>
  `This needs the ${needed} role; yours is ${asMember(role)}. An owner can change it on the Team page.`;

type AxNode = {
  nodeId: string;
  parentId?: string;
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  description?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
};

/** The page as the browser presents it to assistive technology. */
async function look(page: Page, cdp: CDPSession, path: string): Promise<Cell> {
  const { nodes } = (await cdp.send("Accessibility.getFullAXTree")) as { nodes: AxNode[] };
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const all = (role: string) => nodes.filter((node) => !node.ignored && node.role?.value === role);
  const isIn = (node: AxNode | undefined, navigation: string): boolean =>
    node !== undefined &&
    ((node.role?.value === "navigation" && node.name?.value === navigation) ||
      isIn(byId.get(node.parentId ?? ""), navigation));
  const here = await page.evaluate<Pick<Cell, "address" | "section">>(`({
    address: location.pathname + location.search,
    section: [...document.querySelectorAll("main nav [aria-current=page]")].map((link) => link.textContent),
  })`);
  return {
    ...here,
    headings: all("heading")
      .filter((node) => property(node, "level") === 1)
      .map(nameOf),
    navigation: all("link")
      .filter((node) => isIn(node, "Main"))
      .map(nameOf),
    ...told([...all("button"), ...all("link")], Object.values(pageOf(path).buttons ?? {}).flat()),
  };
}

const nameOf = ({ name }: AxNode) => name?.value ?? "";
const property = ({ properties = [] }: AxNode, wanted: string) =>
  properties.find(({ name }) => name === wanted)?.value.value;

function told(buttons: AxNode[], known: string[]): Pick<Cell, "open" | "denied"> {
  const open = new Set<string>();
  const denied = new Set<string>();
  for (const button of buttons) {
    const kind = known.find((begin) => nameOf(button).startsWith(begin));
    if (property(button, "disabled")) {
      const focus = property(button, "focusable") ? "" : " (out of reach of the keyboard)";
      denied.add(`${kind ?? nameOf(button)}: ${button.description?.value ?? "no reason"}${focus}`);
    } else if (kind) open.add(kind);
  }
  return { open: [...open].toSorted(), denied: [...denied].toSorted() };
}

/** The router's own handle for its developer tools; otherwise the tests would need one of ours. */
const ROUTER = "globalThis.__TSR_ROUTER__";

const pathsOf = (page: Page) => page.evaluate<string[]>(`Object.keys(${ROUTER}.routesByPath)`);

/** Stands for content that has not loaded yet. */
const LOADING = "[role=status][aria-label=Loading]";

async function meets(tab: Tab, cdp: CDPSession, { path, role }: { path: string; role: Role }) {
  const { page } = tab;
  const wanted = expected(path, role);
  let found: Cell | undefined;
  await tab.go(addressOf(path));
  // Reading the accessibility tree costs much more than waiting for the page.
  await page.locator(LOADING).first().waitFor({ state: "detached" });
  await eventually(`${path} is what a role meets`, async () => {
    found = await look(page, cdp, path);
    return isDeepStrictEqual(found, wanted);
  }).catch(() => assert.deepEqual(found, wanted, `${path} as ${role}`));
}

/** A narrow phone, and a desktop at 200 % zoom. */
const NARROW = [320, 640];

async function fits(page: Page, path: string): Promise<void> {
  const desktop = page.viewportSize();
  for (const width of NARROW) {
    await page.setViewportSize({ width, height: 800 });
    const across = await page.evaluate<number>(`new Promise((resolve) => requestAnimationFrame(() =>
      requestAnimationFrame(() => resolve(document.documentElement.scrollWidth))))`);
    assert.ok(across <= width, `${path} is ${across} px wide on ${width}`);
  }
  if (desktop) await page.setViewportSize(desktop);
}

for (const role of [...memberRoles, "operator", "outsider", "stranger"] as const) {
  test(`for the ${role}, every page is shown, explains each disabled button, or is refused`, async () => {
    const person = people[role];
    const options = { statuses: [401, 404], isDark: role === "operator" };
    await using tab = person ? await site.signedIn(person, "/", options) : await site.tab(options);
    const { page } = tab;
    if (!person) await page.goto(`${site.url}/sign-in`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const cdp = await tab.context.newCDPSession(page);
    const paths = await pathsOf(page);
    assert.deepEqual(paths.toSorted(), Object.keys(PAGES).toSorted());

    for (const path of paths) {
      await meets(tab, cdp, { path, role });
      if (role === "operator" && pageOf(path).leadsTo === undefined) {
        await tab.checkContrast(`${path} on a desktop in the dark`);
        await fits(page, path);
      }
    }
  });
}
