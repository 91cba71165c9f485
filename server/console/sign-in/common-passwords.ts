/** Fewer distinct characters than this make a pattern, not a password. */
const LEAST_DIFFERENT = 5;
const SEPARATORS = /[\s_.-]/g;

/**
 * Whether a password that is long enough is still among the first that anybody would try: a common
 * one, also if repeated, padded with digits or written with the usual replacements; a keyboard run;
 * or the person's own e-mail. Several words joined by separators are fine.
 */
export function isCommonPassword(password: string, email: string): boolean {
  const plain = password.toLowerCase();
  const joined = plain.replaceAll(SEPARATORS, "");
  if (new Set(joined).size < LEAST_DIFFERENT) return true;
  if (isRun(joined) || isOwnAddress(joined, email)) return true;
  const withoutEnds = plain.replaceAll(/^[^a-z]+|[^a-z]+$/g, "");
  const candidates = [plain, withoutEnds, ...repeated(joined), ...repeated(withoutEnds)];
  return candidates.some((candidate) => COMMON.has(fold(candidate)));
}

const REPLACED: Record<string, string> = {
  "@": "a",
  "4": "a",
  "3": "e",
  "1": "i",
  "!": "i",
  "0": "o",
  $: "s",
  "5": "s",
};

/** Undoes the replacements that everyone knows. */
function fold(text: string): string {
  return text.replaceAll(/[@431!0$5]/g, (sign) => REPLACED[sign] ?? sign);
}

/** If the text is a repetition, the piece that it repeats. */
function repeated(text: string): string[] {
  const [, piece] = /^(.+?)\1+.{0,3}$/.exec(text) ?? [];
  return piece === undefined ? [] : [piece, piece.replaceAll(/[^a-z]+$/g, "")];
}

const ROWS = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "abcdefghijklmnopqrstuvwxyz"];
const LINES = ROWS.flatMap((row) => [row.repeat(3), [...row].toReversed().join("").repeat(3)]);

/** One run along a keyboard row or the alphabet, or a few such runs joined. */
function isRun(text: string): boolean {
  let rest = text;
  for (let runs = 0; runs < 4 && rest !== ""; runs += 1) {
    let length = rest.length;
    while (length > 2 && !isOnLine(rest.slice(0, length))) length -= 1;
    if (length <= 2) return false;
    rest = rest.slice(length);
  }
  return rest === "";
}

function isOnLine(text: string): boolean {
  return LINES.some((line) => line.includes(text));
}

function isOwnAddress(joined: string, email: string): boolean {
  const address = email.toLowerCase().replaceAll(SEPARATORS, "");
  const local = address.split("@")[0] ?? "";
  if (address.length >= 6 && joined.includes(address)) return true;
  return local.length >= 5 && joined.includes(local) && joined.length - local.length < 6;
}

/** Words and phrases at the head of every published list. Digits around them are ignored. */
const COMMON = new Set(
  `password passwords passwordpassword passw0rd passwort motdepasse contrasena changeme changemenow
  changethis letmein letmeinnow letmeinplease welcome welcometo welcomeback iloveyou iloveyouso
  iloveyouforever trustno trustnoone administrator adminadmin administration superuser superman
  batman starwars pokemon football baseball basketball sunshine princess princessa dragon dragonball
  monkey monkeymonkey shadow master masterkey michael jennifer jordan whatever nothing anything
  everything computer computers internet samsung iphone google facebook microsoft windows linux
  qwerty qwertyqwerty qwertyuiop qwertyuiopasdfghjkl asdfghjkl asdfasdf zxcvbnm qazwsx qazwsxedc
  qazwsxedcrfv onetwothree onetwothreefour thisismypassword
  mypassword mypasswordis mysecretpassword secret secretpassword topsecret secretsecret default
  defaultpassword guest guestguest test testtest testing testpassword testtesttest temp temporary
  temppassword temporarypassword newpassword oldpassword yourpassword companyname company
  posthorn posthornposthorn posthornpassword posthornadmin textmessage textmessages messages
  abc abcabc abcdef abcdefgh abcdefghijkl alexander christopher elizabeth charlotte liverpool
  manchesterunited barcelona realmadrid chelsea arsenal england germany deutschland france america
  summer winter autumn spring january february september october november december monday friday
  spring summersummer winterwinter hello helloworld helloo hellohello hellokitty goodbye freedom
  jesus jesuschrist jesusislord godisgood blessed loveyou lovelove lovely forever foreverandever
  killer hunter ranger harley ferrari porsche mercedes mustang corvette charlie thomas daniel
  babygirl chocolate butterfly buttercup blink slipknot metallica nirvana eminem tinkerbell
  rockyou security securitysecurity openup opensesame pleaseletmein letmeinletmein access
  accessdenied nopassword nopasswd passwordless mustchange pleasechange pleasechangeme`
    .split(/\s+/)
    .map(fold),
);
