import { statusOf } from '#conductor/board/render/node-status.ts';
import { type BoardRow, isIll } from '#conductor/board/render/render-board.ts';

type Test = (row: BoardRow) => boolean;

/** Values that `key:` compares, exactly. */
const keys: Readonly<Record<string, (row: BoardRow) => readonly (string | null | undefined)[]>> = {
  state: (row) => [stateOf(row)],
  class: ({ node }) => [node?.resource_class],
  status: (row) => [row.flow?.status, statusOf(row)],
  image: ({ node }) => [node?.image],
  rack: ({ node }) => [node?.rack],
  trait: ({ node }) => node?.traits ?? [],
  owner: ({ node }) => [node?.owner],
  driver: ({ node }) => [node?.driver],
  group: ({ node }) => [node?.conductor_group],
  health: ({ node }) => [node?.health],
};

/**
 * `state:active,"clean wait" rack:r7 trait:CUSTOM_GPU text`: words intersect, values between commas are alternatives, other words are
 * looked for in all that the row says. Cases don't matter. Pure.
 */
export function parseFilter(filter: string): Test {
  const words = filter.toLowerCase().match(/(?:"[^"]*"|[^\s"])+|"/g) ?? [];
  const tests = words.map(parseWord);
  return (row) => tests.every((test) => test(row));
}

function parseWord(word: string): Test {
  const [, key = '', values = ''] = /^(\w+):(.+)$/.exec(word) ?? [];
  const valueOf = Object.hasOwn(keys, key) ? keys[key] : undefined;
  if (!valueOf) {
    const wanted = unquoted(word);
    return (row) => textOf(row).includes(wanted);
  }
  const wanted = new Set(values.split(',').map(unquoted));
  return (row) => valueOf(row).some((value) => wanted.has(value?.toLowerCase() ?? ''));
}

const unquoted = (word: string): string => word.replaceAll('"', '');

/** A flow may be newer than what is known of its node. */
function stateOf({ flow, node }: BoardRow): string | undefined {
  return flow?.provision_state ?? node?.provision_state;
}

function textOf(row: BoardRow): string {
  const { flow, node } = row;
  const ofFlow = flow && [flow.node_name ?? flow.node_uuid, flow.status, flow.kind, flow.step, flow.reason];
  const ofNode = node && [
    node.name,
    node.uuid,
    node.power_state,
    node.last_error,
    node.resource_class,
    node.rack,
    node.owner,
    node.image,
    ...(isIll(node) ? ['health', node.health] : []),
    ...(node.maintenance ? ['maintenance', node.maintenance_reason] : []),
  ];
  return [stateOf(row), ...(ofFlow ?? []), ...(ofNode ?? [])].join(' ').toLowerCase();
}
