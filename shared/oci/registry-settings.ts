import { z } from 'zod';
import { findOciReference } from '#shared/oci/reference.ts';
import type { Mirror } from '#shared/oci/resolve-mirrored.ts';

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
  BATON_OCI_MIRRORS: z
    .string()
    .default('')
    .describe(
      'mirrors of OCI registries, asked first (`docker.io=mirror.example:5000/hub`, with commas between); they get logins of BATON_OCI_AUTH_FILE alone',
    ),
} as const;
type RegistryEnvironment = z.infer<z.ZodObject<typeof registryEnvironment>>;

export interface RegistryConfig {
  /** `undefined` = none. */
  readonly authFile: string | undefined;
  /** In lower case, as references name them. */
  readonly plainHttp: ReadonlySet<string>;
  /** Mirrors, each by the registry that it has copies of. */
  readonly mirrors: ReadonlyMap<string, Mirror>;
}

function registriesIn(list: string): string[] {
  return list
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '');
}

/** Lists what is wrong with the settings, one line each. */
export function registryProblems(env: RegistryEnvironment): string[] {
  const wrong = registriesIn(env.BATON_OCI_PLAIN_HTTP).filter((each) => /[/@\s]/.test(each));
  return [
    ...wrong.map(
      (each) => `BATON_OCI_PLAIN_HTTP: "${withoutLogin(each)}" must be a registry's host or host:port alone`,
    ),
    ...mirrorsIn(env.BATON_OCI_MIRRORS).wrong.map(
      (each) =>
        `BATON_OCI_MIRRORS: "${withoutLogin(each)}" must be REGISTRY=MIRROR or REGISTRY=MIRROR/PATH, each registry once`,
    ),
  ];
}

/** Masks a login, which has no place there: the message goes into logs. */
function withoutLogin(entry: string): string {
  return entry.replace(/[^=]*@/, '…@');
}

function mirrorsIn(list: string): { readonly mirrors: Map<string, Mirror>; readonly wrong: readonly string[] } {
  const mirrors = new Map<string, Mirror>();
  const wrong: string[] = [];
  for (const entry of registriesIn(list)) {
    const [from = '', to = '', ...more] = entry.split('=');
    // each must be a reference once it has a repository
    const registry = findOciReference(`oci://${from}/any/any`);
    const mirror = findOciReference(`oci://${to}/any`);
    const isWhole = more.length === 0 && !from.includes('/') && registry && mirror;
    if (!isWhole || mirrors.has(registry.registry)) wrong.push(entry);
    else mirrors.set(registry.registry, { registry: mirror.registry, prefix: prefixOf(to) });
  }
  return { mirrors, wrong };
}

function prefixOf(mirror: string): string {
  return mirror.split('/').slice(1).join('/');
}

/** Reads the configuration from settings without problems. */
export function readRegistryConfig(env: RegistryEnvironment): RegistryConfig {
  return {
    authFile: env.BATON_OCI_AUTH_FILE,
    plainHttp: new Set(registriesIn(env.BATON_OCI_PLAIN_HTTP)),
    mirrors: mirrorsIn(env.BATON_OCI_MIRRORS).mirrors,
  };
}
