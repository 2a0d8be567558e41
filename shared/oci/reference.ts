import { AppError } from '#shared/errors/app-error.ts';

/** An image in a registry, as `oci://registry/repository:tag` or `@sha256:…` names it. */
export interface OciReference {
  /** Host and maybe port, as given: `registry.example.org:5000`. */
  readonly registry: string;
  readonly repository: string;
  /** Absent only beside a digest. */
  readonly tag: string | undefined;
  /** `sha256:…`, `sha512:…`: of a manifest or an index. */
  readonly digest: string | undefined;
}

const host = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;
/** Grammar of names and tags of the distribution specification. */
const repositoryForm = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;
/** Name of Docker Hub in references; its API is at another host. */
const dockerHub = 'docker.io';

/** Returns whether a text is meant as a reference to a registry. */
export function isOciSource(source: unknown): source is string {
  return typeof source === 'string' && /^oci:\/\//i.test(source);
}

/** Returns whether a text is a digest that can be verified. */
export function isDigest(text: unknown): text is string {
  return typeof text === 'string' && digestForm.test(text);
}

/**
 * Parses `oci://registry[:port]/repository[:tag][@digest]`; without tag and digest the tag is `latest`, as in Ironic.
 * @param field for messages: `instance_info.image_source`
 * @throws AppError `invalid_argument` naming the field and the part that is wrong.
 */
export function parseOciReference(text: string, field: string): OciReference {
  const wrong = (what: string): AppError =>
    new AppError(
      'invalid_argument',
      `${field}: ${what}; it must be oci://registry/repository:tag or oci://registry/repository@sha256:…`,
    );
  const rest = /^oci:\/\/(.*)$/is.exec(text)?.[1];
  if (rest === undefined) throw wrong('it does not begin with oci://');
  if (/[\s?#]/.test(rest)) throw wrong('a space, "?" or "#" can not be part of a reference');
  const slash = rest.indexOf('/');
  const registry = slash === -1 ? rest : rest.slice(0, slash);
  if (registry.includes('@')) {
    throw wrong('it has a login in it: give that as image_pull_secret');
  }
  if (!host.test(registry) || Number(/:(\d+)$/.exec(registry)?.[1] ?? 1) > 65_535) {
    throw wrong(`"${registry}" is no registry's host`);
  }
  if (slash === -1 || slash === rest.length - 1) throw wrong('the repository is missing');
  const [, path = '', digest] = /^([^@]*)(?:@(.*))?$/s.exec(rest.slice(slash + 1)) ?? [];
  if (digest !== undefined && !digestForm.test(digest)) {
    throw wrong(`"@${digest}" is no digest: sha256: and 64 hexadecimal digits in lower case, or sha512: and 128`);
  }
  const [, name = '', tag] = /^([^:]*)(?::(.*))?$/s.exec(path) ?? [];
  if (!repositoryForm.test(name))
    throw wrong(`"${name}" is no repository: it has lower-case letters, digits, . _ - and /`);
  if (tag !== undefined && !tagForm.test(tag)) throw wrong(`"${tag}" is no tag`);
  const isHub = registry === dockerHub || registry === `index.${dockerHub}`;
  return {
    registry: isHub ? dockerHub : registry.toLowerCase(),
    repository: isHub && !name.includes('/') ? `library/${name}` : name,
    tag: tag ?? (digest === undefined ? 'latest' : undefined),
    digest,
  };
}

/** Reads a reference as `parseOciReference` does; `undefined` for a text that is none. */
export function findOciReference(text: string): OciReference | undefined {
  try {
    return parseOciReference(text, '');
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Returns whether a text is a reference that can be read. */
export function isOciReference(text: string): boolean {
  return findOciReference(text) !== undefined;
}

/** Writes a reference as `parseOciReference` reads it. */
export function showOciReference({ registry, repository, tag, digest }: OciReference): string {
  return `oci://${registry}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}

/** Returns the host that the registry's API is at: that of Docker Hub has another name than the registry. */
export function apiHostOf(registry: string): string {
  return registry === dockerHub ? `registry-1.${dockerHub}` : registry;
}

/** Lists the names under which Docker's config.json may have a registry's login. */
export function loginNamesOf(registry: string): readonly string[] {
  return registry === dockerHub
    ? [dockerHub, `https://index.${dockerHub}/v1/`, `index.${dockerHub}`]
    : [registry, `https://${registry}`, `https://${registry}/`, `https://${registry}/v2/`];
}
