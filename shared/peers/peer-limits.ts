import type { ErrorCode } from '#shared/errors/app-error.ts';

/** Cost that one answer of a peer may have for its reader. */
export interface PeerLimits {
  /** Bytes of the body, decompressed where it was compressed. */
  readonly bytes: number;
  /** Arrays and objects inside of each other. */
  readonly depth: number;
  /**
   * Separators of JSON (`[`, `{`, `:`, `,`) outside of strings. An object of one key costs up to 2 µs to make and several
   * times as much to validate, whatever its bytes.
   */
  readonly values: number;
  /** Milliseconds until the whole answer is there, where the caller says nothing else. */
  readonly timeoutMs: number;
  /** Code of the error when an answer is above a limit: never one that is tried again by itself. */
  readonly code: ErrorCode;
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const machine = { depth: 32, code: 'agent_error' } as const;

/**
 * The limits of everything that Baton reads from others over the network, by who they are. Sizes are several times what
 * real ones send: steps of ironic-python-agent with vendors' managers 50 KiB, an inventory with `extra` of a machine with
 * 256 cores and 100 disks 2 MiB, its logs 30 MiB in base64, an attribute registry of a BMC 2.5 MiB.
 */
export const peerLimits = {
  /** A config drive of up to 64 MiB, or a tarball of logs, may stand in the results of a real ironic-python-agent. */
  agentCommands: { ...machine, bytes: 96 * mebibyte, values: 60_000, timeoutMs: 10_000 },
  agentSteps: { ...machine, bytes: mebibyte / 4, values: 10_000, timeoutMs: 60_000 },
  inventory: { ...machine, bytes: 16 * mebibyte, values: 60_000, timeoutMs: 120_000 },
  bmc: { bytes: 4 * mebibyte, depth: 32, values: 200_000, timeoutMs: 60_000, code: 'bmc_error' },
  switch: { bytes: 16 * mebibyte, depth: 32, values: 400_000, timeoutMs: 10_000, code: 'switch_error' },
  /** Neutron, whose drivers set switches meanwhile, and Keystone. */
  neutron: { bytes: 4 * mebibyte, depth: 32, values: 200_000, timeoutMs: 45_000, code: 'switch_error' },
  etcd: { bytes: mebibyte, depth: 16, values: 20_000, timeoutMs: 15_000, code: 'command_failed' },
  /** The lists of a large cluster; an operator's own server. */
  kubernetes: { bytes: 64 * mebibyte, depth: 64, values: 4_000_000, timeoutMs: 15_000, code: 'command_failed' },
  /** One line of a watch: an object, of which etcd stores 1.5 MiB at most. */
  kubernetesEvent: { bytes: 4 * mebibyte, depth: 64, values: 200_000, timeoutMs: 15_000, code: 'command_failed' },
  /** Only the status is looked at. */
  webhook: { bytes: 64 * kibibyte, depth: 0, values: 0, timeoutMs: 10_000, code: 'unavailable' },
  /** A deployed instance that is asked whether it is there; only the status is looked at. */
  instance: { bytes: 64 * kibibyte, depth: 0, values: 0, timeoutMs: 5_000, code: 'unavailable' },
  /** One number, or, for a query that is wrong, as many series as show that it is. */
  prometheus: { bytes: mebibyte, depth: 16, values: 20_000, timeoutMs: 5_000, code: 'unavailable' },
  /** Only status and headers are looked at. */
  image: { bytes: 64 * kibibyte, depth: 0, values: 0, timeoutMs: 5_000, code: 'unavailable' },
  /** A token, or a manifest, which registries accept up to 4 MiB. */
  registry: { bytes: 4 * mebibyte, depth: 16, values: 100_000, timeoutMs: 15_000, code: 'image_error' },
  /** A chunk from a machine that deploys the same image; its bytes are the chunk's, if that has fewer. */
  neighbour: { bytes: 4 * mebibyte + 64 * kibibyte, depth: 0, values: 0, timeoutMs: 16_000, code: 'image_error' },
  /** The conductor's answers, as the agent reads them. */
  conductor: { bytes: mebibyte, depth: 32, values: 40_000, timeoutMs: 60_000, code: 'agent_error' },
} as const satisfies Readonly<Record<string, PeerLimits>>;

export type PeerKind = keyof typeof peerLimits;
