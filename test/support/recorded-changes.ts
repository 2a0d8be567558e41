import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';

/** A transaction that only keeps what it is told to change: for each UPDATE, each column's new value. */
export function recordChanges(): { readonly tx: Transaction; readonly recorded: Record<string, unknown>[] } {
  const recorded: Record<string, unknown>[] = [];
  const tx = sendBy({} as Transaction, ({ text, values }) => {
    const columns = [...text.matchAll(/"(\w+)" = \$(\d+)/g)];
    const set = columns.filter(([, name]) => name !== 'uuid');
    recorded.push(Object.fromEntries(set.map(([, name, place]) => [name, decoded(values[Number(place) - 1])])));
    return Promise.resolve({ rows: [] });
  });
  return { tx, recorded };
}

function decoded(value: unknown): unknown {
  return typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : value;
}
