import type { DescribedNode } from '#conductor/cli/nodes/node-file.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';

/** Fleet of another system in Baton's words: the one form that each reader makes, and that is brought in. */
export interface Fleet {
  /** The system as people call it: `Ironic at https://…`. */
  readonly source: string;
  readonly nodes: readonly FleetNode[];
  /** Bodies of `POST /v1/deploy_templates`, by name. */
  readonly templates?: readonly (Json & { readonly name: string })[];
  /** Sentences on what stays behind of everything but nodes. */
  readonly left: readonly string[];
}

export interface FleetNode extends DescribedNode {
  /** The node's state in the other system, in its words; '' = the system has none. */
  readonly stateThere: string;
  /**
   * How far the node is taken: `enroll`, not touched; `manageable`, its BMC is asked for the power; `active`, it is adopted
   * with the instance that runs there.
   */
  readonly goal: 'enroll' | 'manageable' | 'active';
  /** Set once the node is there: work on a node in maintenance would wait. */
  readonly maintenance?: { readonly reason: string | undefined };
  /** Body of `POST /v1/allocations`, without the node. */
  readonly allocation?: Json & { readonly uuid: string };
  /** Things of the node that don't come, and why: `bios_interface ilo`. */
  readonly left: readonly string[];
  /** Reason why the node can't come at all. */
  readonly refused?: string;
}

/** The rights of a driver of this conductor, as `GET /v1/drivers?detail=true` has them. */
export type KnownDrivers = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** An object's member that is an object; an empty one for anything else. */
export function objectIn(value: unknown, ...path: readonly string[]): Json {
  const found = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
  return isJsonObject(found) ? found : {};
}

/** An object's member that is a text or number, as text; `undefined` for anything else, and for ''. */
export function textIn(value: unknown, ...path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** An object's member that is a list; an empty one for anything else. */
export function listIn(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
  return Array.isArray(found) ? (found as unknown[]) : [];
}

/** The value that all of a list agree on; `undefined` where there is none, or more than one. */
export function onlyOf<Value>(values: readonly Value[]): Value | undefined {
  const [value, ...others] = new Set(values);
  return others.length === 0 ? value : undefined;
}

/** The members that have a value. */
export function givenFields(object: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
}
