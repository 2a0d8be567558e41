import { createServer, type Socket } from 'node:net';
import { createJsonObjectSplitter } from '#conductor/networks/switches/json-objects.ts';

/**
 * An OVSDB server (RFC 7047) over tables in memory: as much as the `ovs` driver asks of `Open_vSwitch`, `Port` and `Mirror`. What is
 * changed is in effect at once.
 */
export interface OvsdbSwitch {
  readonly endpoint: string;
  readonly ports: Row[];
  stop(): Promise<void>;
}

type Row = Record<string, unknown>;
type Condition = readonly [column: string, how: string, value: unknown];
interface Operation {
  readonly op: string;
  readonly table: string;
  readonly where?: readonly Condition[];
  readonly row?: Row;
  readonly rows?: readonly Row[];
  readonly columns?: readonly string[];
  readonly mutations?: readonly (readonly [column: string, how: string, value: unknown])[];
}

export async function startOvsdbSwitch(recorded: readonly Row[], mirrors: readonly Row[] = []): Promise<OvsdbSwitch> {
  const ports = recorded.map((row) => ({ external_ids: ['map', []], ...structuredClone(row) }));
  const tables: Readonly<Record<string, Row[]>> = {
    Open_vSwitch: [{ next_cfg: 1, cur_cfg: 1 }],
    Port: ports,
    Mirror: [...mirrors],
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const splitter = createJsonObjectSplitter();
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      for (const message of splitter.push(chunk) as { id: unknown; method: string; params: unknown[] }[]) {
        const result =
          message.method === 'transact'
            ? (message.params.slice(1) as Operation[]).map((operation) => perform(tables, operation))
            : message.params;
        socket.write(JSON.stringify({ id: message.id, result, error: null }));
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return {
    endpoint: `tcp:127.0.0.1:${address.port}`,
    ports,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** A set of one is written as its only member (RFC 7047 §5.1). */
const written = (value: unknown): unknown =>
  Array.isArray(value) && value[0] === 'set' && value[1].length === 1 ? value[1][0] : value;

function perform(tables: Readonly<Record<string, Row[]>>, operation: Operation): Row {
  const { op, table, where = [], row = {}, columns, mutations = [] } = operation;
  const found = (tables[table] ?? []).filter((each) => where.every((condition) => isMet(each, condition)));
  if (op === 'select')
    return { rows: found.map((each) => Object.fromEntries((columns ?? []).map((name) => [name, each[name]]))) };
  if (op === 'wait') return {};
  if (op === 'update')
    for (const each of found)
      Object.assign(each, Object.fromEntries(Object.entries(row).map(([name, value]) => [name, written(value)])));
  else if (op === 'mutate') for (const each of found) for (const mutation of mutations) mutate(each, mutation);
  else return { error: 'not supported', details: op };
  return { count: found.length };
}

function isMet(row: Row, [column, how, value]: Condition): boolean {
  const isSame = JSON.stringify(row[column]) === JSON.stringify(value);
  if (how === '==') return isSame;
  if (how === '!=') return !isSame;
  if (how === '<') return Number(row[column]) < Number(value);
  if (how === 'excludes') return !pairsOf(row[column]).some((pair) => pairsOf(value).includes(pair));
  throw new Error(`no condition ${how}`);
}

const pairsOf = (map: unknown): string[] =>
  (Array.isArray(map) ? (map[1] as unknown[]) : []).map((pair) => JSON.stringify(pair));

function mutate(row: Row, [column, how, value]: readonly [string, string, unknown]): void {
  if (how === '+=') {
    row[column] = Number(row[column]) + Number(value);
    row['cur_cfg'] = row['next_cfg'];
    return;
  }
  const others = pairsOf(row[column]).filter((pair) => !pairsOf(value).includes(pair));
  const pairs = how === 'insert' ? [...others, ...pairsOf(value)] : others;
  row[column] = ['map', pairs.map((pair) => JSON.parse(pair) as unknown)];
}
