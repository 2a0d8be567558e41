import type { Piece } from '#agent/image/fetch/range-reader.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface WatchedTable extends Piece {
  /** Gets the table's bytes, which it may not keep, once they have passed. */
  readonly done: (bytes: Buffer) => void;
}

/** Picks tables out of a file that passes by. */
export interface TableWatch {
  /** Tables in the order of the file, none of which may have passed. @throws AppError `not_supported` when one has. */
  expect(tables: readonly WatchedTable[]): void;
  /** The next bytes of the file, which begin at `offset`. */
  take(bytes: Buffer, offset: number): void;
  /** Where the first table is that has not passed yet. */
  readonly next: () => number | undefined;
}

export function createTableWatch(): TableWatch {
  let tables: readonly WatchedTable[] = [];
  const state = { index: 0, passed: 0, table: Buffer.alloc(0) };
  return {
    expect: (added) => {
      const [first] = added;
      if (first && first.offset < state.passed) throw tableBehindError(`its table at byte ${first.offset}`);
      tables = [...tables.slice(state.index), ...added].sort((a, b) => a.offset - b.offset);
      state.index = 0;
    },
    take: (bytes, offset) => {
      state.passed = offset;
      for (let table = tables[state.index]; table !== undefined; table = tables[state.index]) {
        const from = Math.max(table.offset, offset);
        const to = Math.min(table.offset + table.bytes, offset + bytes.length);
        if (to <= from) break;
        if (from === table.offset) state.table = Buffer.alloc(table.bytes);
        bytes.copy(state.table, from - table.offset, from - offset, to - offset);
        if (to < table.offset + table.bytes) break;
        state.index += 1;
        table.done(state.table);
      }
      state.passed = offset + bytes.length;
    },
    next: () => tables[state.index]?.offset,
  };
}

/** The error for an image that can't be written in the order of the file. */
export function tableBehindError(what: string): AppError {
  return new AppError(
    'not_supported',
    `the server gives no ranges (HTTP Range), and the qcow2 image has ${what} behind what needs it: serve it with ranges, or convert it (qemu-img convert)`,
  );
}
