import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { NodeDescription } from '#conductor/api/node-description.ts';
import { macAddress, PortDescription, PortgroupDescription } from '#conductor/api/ports.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';

/** A port to make, with the fields that the API takes. */
interface DescribedPort {
  /** Lower case. */
  readonly address: string;
  /** By name. */
  readonly portgroup: string | undefined;
  readonly fields: Json;
}

interface DescribedPortgroup {
  readonly name: string;
  readonly fields: Json;
}

/** A node of a file, as it shall be. */
export interface DescribedNode {
  readonly name: string;
  readonly driver: string;
  readonly fields: Json;
  readonly traits: readonly string[];
  readonly ports: readonly DescribedPort[];
  readonly portgroups: readonly DescribedPortgroup[];
}

const trait = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'must be like CUSTOM_GOLD');
const Port = PortDescription.extend({ address: macAddress, portgroup: z.string().optional() });
const Portgroup = z
  .strictObject(PortgroupDescription.shape)
  .partial()
  .extend({ name: z.string({ error: 'must be given' }).min(1), ports: z.array(Port).default([]) });
const Node = NodeDescription.extend({
  name: z.string({ error: 'must be given: by it the node is known when the file is read again' }).min(1),
  driver: NodeDescription.shape.driver.unwrap(),
  uuid: z.guid({ error: 'must be a UUID' }).optional(),
  traits: z.array(trait).default([]),
  ports: z.array(Port).default([]),
  portgroups: z.array(Portgroup).default([]),
});

/**
 * The nodes of a file, JSON or YAML (merge keys and several documents too): a list of nodes, `{nodes: […]}`, or one node.
 * Each has the fields of `POST /v1/nodes`, and `traits`, `ports`, `portgroups`.
 * @param knownDrivers `undefined` = not asked for
 * @throws AppError `invalid_argument` with one message that lists all problems
 */
export function readNodeFile(text: string, file: string, knownDrivers?: readonly string[]): DescribedNode[] {
  const entries = readEntries(text, file);
  const problems: string[] = [];
  const nodes: DescribedNode[] = [];
  for (const [index, entry] of entries.entries()) {
    const parsed = Node.safeParse(entry);
    const place = `nodes[${index}]${nameOf(entry)}`;
    if (parsed.success) nodes.push(describe(parsed.data, isJsonObject(entry) ? entry : {}));
    else problems.push(...parsed.error.issues.map((issue) => `${place}: ${issuePath(issue.path)}${issue.message}`));
  }
  problems.push(...findConflicts(nodes, knownDrivers));
  if (entries.length === 0) problems.push('it has no nodes');
  if (problems.length === 0) return nodes;
  throw usageError(`${file}: nothing was sent, for it has problems:\n  ${problems.join('\n  ')}`);
}

function readEntries(text: string, file: string): unknown[] {
  const documents = parseAllDocuments(text, { merge: true });
  if (!Array.isArray(documents)) return [];
  const [fault] = documents.flatMap(({ errors }) => errors);
  if (fault) throw usageError(`${file}: it must be JSON or YAML`, { cause: fault });
  return documents
    .map((document) => document.toJS() as unknown)
    .filter((content) => content !== null)
    .flatMap((content) => {
      if (Array.isArray(content)) return content as unknown[];
      const nodes: unknown =
        typeof content === 'object' && content !== null ? Reflect.get(content, 'nodes') : undefined;
      return Array.isArray(nodes) ? (nodes as unknown[]) : [content];
    });
}

function nameOf(entry: unknown): string {
  const name: unknown = typeof entry === 'object' && entry !== null ? Reflect.get(entry, 'name') : undefined;
  return typeof name === 'string' ? ` (${name})` : '';
}

function issuePath(path: readonly PropertyKey[]): string {
  return path.length === 0 ? '' : `${path.map(String).join('.')}: `;
}

/** The objects of a list that the schema has checked. */
function objectsOf(list: unknown): readonly Json[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** Fields go out as they were written: what the schema makes of them is the server's to decide. */
function describe(parsed: z.infer<typeof Node>, written: Json): DescribedNode {
  const { traits: _traits, ports: _ports, portgroups: _portgroups, ...fields } = written;
  const writtenPorts = objectsOf(written['ports']);
  const writtenGroups = objectsOf(written['portgroups']);
  const port = (given: z.infer<typeof Port>, source: Json | undefined, group: string | undefined): DescribedPort => {
    const { portgroup: _portgroup, ...rest } = source ?? {};
    return { address: given.address, portgroup: group, fields: { ...rest, address: given.address } };
  };
  return {
    name: parsed.name,
    driver: parsed.driver,
    fields,
    traits: parsed.traits,
    ports: [
      ...parsed.ports.map((given, index) => port(given, writtenPorts[index], given.portgroup)),
      // as `baremetal create FILE` has it: ports below their group
      ...parsed.portgroups.flatMap((group, index) =>
        group.ports.map((given, place) => port(given, objectsOf(writtenGroups[index]?.['ports'])[place], group.name)),
      ),
    ],
    portgroups: parsed.portgroups.map(({ name }, index) => {
      const { ports: _inner, ...rest } = writtenGroups[index] ?? {};
      return { name, fields: rest };
    }),
  };
}

function findConflicts(nodes: readonly DescribedNode[], knownDrivers: readonly string[] | undefined): string[] {
  const twice = (what: string, values: readonly string[]): string[] =>
    [...new Set(values.filter((value, index) => values.indexOf(value) !== index))].map(
      (value) => `${what} ${value}: it stands there more than once`,
    );
  const strays = nodes.flatMap((node) =>
    node.ports
      .filter(({ portgroup }) => portgroup !== undefined && node.portgroups.every(({ name }) => name !== portgroup))
      .map(({ address, portgroup }) => `${node.name}: port ${address}: the node has no port group ${portgroup}`),
  );
  const unknown = nodes
    .filter(({ driver }) => knownDrivers !== undefined && !knownDrivers.includes(driver))
    .map(({ name, driver }) => `${name}: driver: ${driver} is none of ${knownDrivers?.join(', ')}`);
  return [
    ...twice(
      'name',
      nodes.map(({ name }) => name),
    ),
    ...twice(
      'port group',
      nodes.flatMap(({ portgroups }) => portgroups.map(({ name }) => name)),
    ),
    ...twice(
      'port',
      nodes.flatMap(({ ports }) => ports.map(({ address }) => address)),
    ),
    ...strays,
    ...unknown,
  ];
}
