/** Body of a request that puts an image into a slot: the standard's way first, then what the BMC's refusals name. */
export type InsertBody = Readonly<Record<string, unknown>>;

/** For a slot that has the action: Supermicro X11 refuses to be told the state with it (sushy). */
export function plainBody(url: string): InsertBody {
  return { Image: url };
}

/** For a slot that is written to: Lenovo's SD530 fills none that isn't told its state (sushy). */
export function statedBody(url: string): InsertBody {
  return { Image: url, Inserted: true, WriteProtected: true };
}

/** So often at most one slot is asked in other words. */
export const maxBodies = 8;

/**
 * The body to try after those that were refused, or `undefined`. What the last refusal names is added; what it names and
 * had is left out; where it names nothing that helps, the ways of makers follow.
 */
export function nextBody(
  url: string,
  tried: readonly InsertBody[],
  names: ReadonlySet<string>,
): { readonly body: InsertBody; readonly isNamed: boolean } | undefined {
  const last = tried.at(-1) ?? plainBody(url);
  const known = optional(url);
  const named = Object.keys(known).filter((name) => names.has(name));
  const missing = named.filter((name) => !(name in last));
  // DGX names one of the two (Launchpad bug 2071945)
  const login = missing.some((name) => name === 'UserName' || name === 'Password') ? ['UserName', 'Password'] : [];
  const byName = [
    ...(missing.length > 0 ? [{ ...last, ...pick(known, [...missing, ...login]) }] : []),
    ...(named.length > missing.length ? [leaveOut(last, named)] : []),
  ];
  const transfer = pick(known, ['TransferProtocolType', 'TransferMethod']);
  const plain = plainBody(url);
  const stated = statedBody(url);
  const byCustom = [plain, { ...plain, ...transfer }, stated, { ...stated, ...transfer }];
  const isNew = (body: InsertBody): boolean => tried.every((other) => !isSame(other, body));
  const fresh = tried.length < maxBodies ? [...byName, ...byCustom].find(isNew) : undefined;
  return fresh && { body: fresh, isNamed: byName.includes(fresh) };
}

/** A login is the one of the URL; BMCs that demand one where there is none are satisfied by any (sushy sends `none`). */
function optional(url: string): InsertBody {
  const { protocol, username, password } = new URL(url);
  return {
    TransferProtocolType: protocol === 'https:' ? 'HTTPS' : 'HTTP',
    TransferMethod: 'Stream',
    Inserted: true,
    WriteProtected: true,
    MediaType: 'CD',
    UserName: decodeURIComponent(username) || 'none',
    Password: decodeURIComponent(password) || 'none',
  };
}

function pick(body: InsertBody, names: readonly string[]): InsertBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

function leaveOut(body: InsertBody, names: readonly string[]): InsertBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

function isSame(one: InsertBody, other: InsertBody): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other);
}
