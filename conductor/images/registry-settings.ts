import { z } from 'zod';

/** Settings of OCI registries; part of the conductor's environment (`environment.ts`). */
export const registryEnvironment = {
  BATON_OCI_AUTH_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "logins at OCI registries, for nodes without an `image_pull_secret`: a file as Docker's config.json (`auths`), mode 0600; read at each use",
    ),
  BATON_OCI_PLAIN_HTTP: z
    .string()
    .default('')
    .describe('OCI registries (`host` or `host:port`, with commas between) that are spoken to without TLS'),
} as const;
type RegistryEnvironment = z.infer<z.ZodObject<typeof registryEnvironment>>;

export interface RegistryConfig {
  /** `undefined` = none. */
  readonly authFile: string | undefined;
  /** In lower case, as references name them. */
  readonly plainHttp: ReadonlySet<string>;
}

function registriesIn(list: string): string[] {
  return list
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '');
}

/** @returns what is wrong with the settings, one line each. */
export function registryProblems(env: RegistryEnvironment): string[] {
  const wrong = registriesIn(env.BATON_OCI_PLAIN_HTTP).filter((each) => /[/@\s]/.test(each));
  return wrong.map((each) => `BATON_OCI_PLAIN_HTTP: "${each}" must be a registry's host or host:port alone`);
}

/** Reads the configuration from settings without problems. */
export function readRegistryConfig(env: RegistryEnvironment): RegistryConfig {
  return { authFile: env.BATON_OCI_AUTH_FILE, plainHttp: new Set(registriesIn(env.BATON_OCI_PLAIN_HTTP)) };
}
