/** Values that rules may look at, by the names under which they do. */
export interface RuleSubject {
  /** The node as the API has it. */
  readonly node: Readonly<Record<string, unknown>>;
  readonly inventory: Readonly<Record<string, unknown>>;
  readonly plugin_data: Readonly<Record<string, unknown>>;
  /** In a loop: what it has come to. */
  readonly item?: unknown;
}

/** `{inventory[system_vendor][product_name]}`, `{node.driver_info[ipmi_address]}`: Python's, as in Ironic. */
const reference = /\{((?:node|inventory|plugin_data|item)(?:\.\w+|\[[^\][{}]+\])*)\}/g;

/**
 * Fills in a value: what it refers to stands in place of the references; a value that is only a reference becomes what is there,
 * of whatever type, and `undefined` where nothing is. Pure.
 */
export function fillIn(value: unknown, subject: RuleSubject): unknown {
  if (Array.isArray(value)) return value.map((each) => fillIn(each, subject));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, subject)]));
  }
  if (typeof value !== 'string') return value;
  const [whole, path] = [...value.matchAll(reference)][0] ?? [];
  if (whole === value && path !== undefined) return lookUp(path, subject);
  return value.replaceAll(reference, (_, each: string) => textOf(lookUp(each, subject)));
}

/** Makes text as Ironic does, also of what is not there. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return 'None';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function lookUp(path: string, subject: RuleSubject): unknown {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  return keys.reduce<unknown>(
    (found, key) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key]
        : undefined,
    subject,
  );
}
