import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

interface Node {
  readonly driver_info?: Readonly<Record<string, unknown>>;
}

const day = 24 * 60 * 60;

const whole = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: 'must be a whole number' })
  .pipe(z.number().int().min(0));
const flag = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' });
/** stress-ng's grammar of times: `90`, `90s`, `5m`, `2h`, `1d`. */
const seconds = z.union(
  [
    whole,
    z
      .string()
      .regex(/^\d+[smhd]$/)
      .transform(
        (text) => Number(text.slice(0, -1)) * { s: 1, m: 60, h: 3600, d: day }[text.at(-1) as 's' | 'm' | 'h' | 'd'],
      ),
  ],
  { error: 'must be a number of seconds, or one with s, m, h or d behind it' },
);

/** A share of what is free, or bytes: `98%`, `2G`, `512M`. */
const amount = z
  .union([z.number().int().positive(), z.string().regex(/^\d+(%|[bkmgt]?)$/i)], {
    error: 'must be bytes (as 2G) or a share (as 98%)',
  })
  .transform((value): { readonly percent: number } | { readonly bytes: number } => {
    const text = String(value).toLowerCase();
    const size = Number.parseInt(text, 10);
    if (text.endsWith('%')) return { percent: size };
    return { bytes: size * 1024 ** Math.max(0, 'bkmgt'.indexOf(text.at(-1) ?? '')) };
  });

const networkConfig = z.looseObject({ role: z.enum(['writer', 'reader']), partner: z.string().min(1) });

/**
 * Reads a setting of `driver_info` by ironic-python-agent's names.
 * @throws AppError `invalid_argument` naming the key.
 */
function read<T>(node: Node, key: string, schema: z.ZodType<T>, fallback: T): T {
  const value = node.driver_info?.[key];
  if (value === undefined || value === null) return fallback;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = describeIssues(parsed.error);
  throw new AppError('invalid_argument', `driver_info.${key} is ${JSON.stringify(value)}: ${faults}`);
}

/** Reads the settings of the CPU's burn-in; 0 workers: as many as there are processors. Default one day, as for memory. */
export function readCpuSettings(node: Node): { readonly seconds: number; readonly workers: number } {
  return {
    seconds: read(node, 'agent_burnin_cpu_timeout', seconds, day),
    workers: read(node, 'agent_burnin_cpu_cpu', whole, 0),
  };
}

export function readMemorySettings(node: Node): {
  readonly seconds: number;
  readonly workers: number;
  readonly amount: { readonly percent: number } | { readonly bytes: number };
} {
  return {
    seconds: read(node, 'agent_burnin_vm_timeout', seconds, day),
    workers: read(node, 'agent_burnin_vm_vm', whole, 0),
    amount: read(node, 'agent_burnin_vm_vm-bytes', amount, { percent: 98 }),
  };
}

export interface DiskSettings {
  /** Times that each disk is written and read back, when no runtime is given. */
  readonly loops: number;
  /** Seconds; 0: as long as the loops take. */
  readonly seconds: number;
  readonly smartTest: boolean;
}

export function readDiskSettings(node: Node): DiskSettings {
  return {
    loops: read(node, 'agent_burnin_fio_disk_loops', whole.pipe(z.number().min(1)), 4),
    seconds: read(node, 'agent_burnin_fio_disk_runtime', seconds, 0),
    smartTest: read(node, 'agent_burnin_fio_disk_smart_test', flag, false),
  };
}

export interface NetworkSettings {
  readonly seconds: number;
  /** The role that this machine begins with; the roles are changed when the time is over. */
  readonly role: 'writer' | 'reader';
  /** The other machine's address. */
  readonly partner: string;
}

/** @throws AppError `not_supported` for pairs found by a coordination service. */
export function readNetworkSettings(node: Node): NetworkSettings {
  const config = read(node, 'agent_burnin_fio_network_config', networkConfig.nullable(), null);
  if (config === null) {
    throw new AppError(
      'not_supported',
      'driver_info.agent_burnin_fio_network_config must name role (writer or reader) and partner (its address): ' +
        'this agent does not look for a partner by agent_burnin_fio_network_pairing_backend_url',
    );
  }
  return { ...config, seconds: read(node, 'agent_burnin_fio_network_runtime', seconds, 6 * 60 * 60) };
}
