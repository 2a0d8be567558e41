import { run } from '#shared/process/run.ts';

/** Debian's real `baremetal` CLI (python3-ironicclient) on a conductor. */
export interface Baremetal {
  /** What it prints; fails with its own words. */
  readonly text: (...args: string[]) => Promise<string>;
  /** With `-f json`. */
  readonly json: (...args: string[]) => Promise<Record<string, unknown>>;
  /** Its own words when it fails; throws when it succeeds. */
  readonly failure: (...args: string[]) => Promise<string>;
}

export function createBaremetal(url: () => string): Baremetal {
  const text = async (...args: string[]): Promise<string> => {
    const result = await run('baremetal', ['--os-auth-type', 'none', '--os-endpoint', url(), ...args], {
      timeoutMs: 120_000,
    });
    return result.stdout;
  };
  return {
    text,
    json: async (...args) => JSON.parse(await text(...args, '-f', 'json')) as Record<string, unknown>,
    failure: async (...args) => {
      const outcome = await text(...args).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (outcome === undefined) throw new Error(`baremetal ${args.join(' ')} succeeded`);
      if (!(outcome instanceof Error)) return '';
      return `${outcome.message} ${outcome.cause instanceof Error ? outcome.cause.message : ''}`;
    },
  };
}
