/** Chunks as they were sent, in bounded memory: those whose turn is to come, and those that neighbours may ask for. */
export interface PackedStore {
  add(id: string, packed: Buffer): void;
  get(id: string): Buffer | undefined;
  /** From now on it may be dropped for others, the longest used first; `stays`: never. */
  use(id: string, stays: boolean): void;
  /** Counts the bytes of chunks that were not used yet. */
  aheadBytes(): number;
}

/** @param mostUsedBytes of those that were used; the others are bounded by who adds them */
export function createPackedStore(mostUsedBytes: () => number): PackedStore {
  const ahead = new Map<string, Buffer>();
  const used = new Map<string, Buffer>();
  const kept = new Map<string, Buffer>();
  const bytes = { ahead: 0, used: 0 };
  return {
    add: (id, packed) => {
      if (ahead.has(id) || used.has(id) || kept.has(id)) return;
      ahead.set(id, packed);
      bytes.ahead += packed.length;
    },
    get: (id) => ahead.get(id) ?? used.get(id) ?? kept.get(id),
    use: (id, stays) => {
      const packed = ahead.get(id);
      if (packed === undefined) return;
      ahead.delete(id);
      bytes.ahead -= packed.length;
      if (stays) {
        kept.set(id, packed);
        return;
      }
      used.set(id, packed);
      bytes.used += packed.length;
      for (const [oldest, each] of used) {
        if (bytes.used <= mostUsedBytes()) break;
        used.delete(oldest);
        bytes.used -= each.length;
      }
    },
    aheadBytes: () => bytes.ahead,
  };
}
