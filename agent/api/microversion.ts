/** The minor number of Ironic's API version `1.N`. */
export type Microversion = number;

/** Versions: the highest that the agent asks for, and the version that each field needs (agent-protocol.md §2.1). */
export const microversions = {
  lookup: 62,
  heartbeat: 68,
  agentVersion: 36,
  agentToken: 62,
  agentVerifyCa: 68,
  /** Taken when the API doesn't report its version. */
  assumed: 31,
} as const;

/** `1.115` → 115; `undefined` when it is not a version of API 1. */
export function parseMicroversion(text: unknown): Microversion | undefined {
  const minor = typeof text === 'string' ? /^1\.(\d+)$/.exec(text)?.[1] : undefined;
  return minor === undefined ? undefined : Number(minor);
}
