import { peerLimits } from '#shared/peers/peer-limits.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** The most that one body may cost its reader. */
export interface BodyRow {
  readonly bytes: number;
  /** Arrays and objects inside of each other, and the number of values (`peer-limits.ts`). */
  readonly depth: number;
  readonly values: number;
  /** Seconds in which all of it must have come. */
  readonly seconds: number;
  /** Not JSON, but a text that its route reads, with limits of its own. */
  readonly isText?: true;
}

/** Ironic's (ironic-api.md §1.2). An allocation names 10,000 candidates in so many values, twice over. */
const usual: BodyRow = { bytes: mebibyte, depth: 64, values: 20_000, seconds: 60 };
/** A config drive of 32 MiB in base64, over a link of 5 Mbit/s. */
const ofFile = { bytes: 48 * mebibyte, seconds: 120 };

/** The limits of every body that enters: the definition of a route names its row. */
export const bodyRows = {
  usual,
  /** Limits of an operation without a body, for one that comes all the same. */
  none: { bytes: 64 * kibibyte, depth: 8, values: 1_000, seconds: 30 },
  /** Limits of an agent whose token is to be looked at yet. */
  agent: { bytes: 256 * kibibyte, depth: 16, values: 1_000, seconds: 30 },
  /** A boot's event log stands in it. */
  attestation: { bytes: mebibyte, depth: 4, values: 100, seconds: 30 },
  report: { bytes: peerLimits.inventory.bytes, depth: peerLimits.inventory.depth, values: 60_000, seconds: 30 },
  /** A config drive stands in it. */
  provision: { ...usual, ...ofFile },
  /** Bytes of as many characters as an upload may have (`parse-documents.ts`). */
  documents: { ...usual, ...ofFile, bytes: 32 * mebibyte, isText: true },
  plugin: { ...usual, bytes: 4 * mebibyte },
  tag: { ...usual, bytes: 16 * kibibyte, isText: true },
} as const satisfies Readonly<Record<string, BodyRow>>;

export type BodyRowName = keyof typeof bodyRows;
