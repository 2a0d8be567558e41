import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { isDigest } from '#shared/oci/reference.ts';
import { unusableImage } from '#shared/oci/unusable-image.ts';

const annotations = z.record(z.string(), z.string()).nullish();
const size = z.number().int().nonnegative();

const Descriptor = z.looseObject({
  mediaType: z.string().nullish(),
  digest: z.string().refine(isDigest, { error: 'must be a sha256 or sha512 digest' }),
  size,
  annotations,
  platform: z.looseObject({ architecture: z.string().max(255).nullish(), os: z.string().nullish() }).nullish(),
});
export type Descriptor = z.infer<typeof Descriptor>;

const Manifest = z.looseObject({
  mediaType: z.string().nullish(),
  artifactType: z.string().nullish(),
  config: z.looseObject({ mediaType: z.string().nullish(), digest: z.string().nullish() }).nullish(),
  layers: z.array(Descriptor).max(1000),
  annotations,
});
export type Manifest = z.infer<typeof Manifest>;

const Index = z.looseObject({ mediaType: z.string().nullish(), manifests: z.array(Descriptor).max(1000), annotations });
export type Index = z.infer<typeof Index>;

/** Media types that are asked for: those of the OCI image specification, and Docker's older ones. */
export const manifestTypes: readonly string[] = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

export type OciDocument =
  | { readonly kind: 'manifest'; readonly manifest: Manifest }
  | { readonly kind: 'index'; readonly index: Index };

/**
 * Reads a manifest or an index by what is in it: `mediaType` is optional in both, and registries label them as they like.
 * @param about for messages
 * @throws AppError `image_error` for anything else, `not_supported` for Docker's manifests of before 2016.
 */
export function parseOciDocument(body: unknown, about: string): OciDocument {
  const fields = typeof body === 'object' && body !== null ? body : {};
  const [hasLayers, hasManifests] = ['layers' in fields, 'manifests' in fields];
  if (hasLayers && hasManifests) throw unusableImage(`${about}: it has both layers and manifests`);
  if (hasLayers) return { kind: 'manifest', manifest: read(Manifest, fields, about) };
  if (hasManifests) return { kind: 'index', index: read(Index, fields, about) };
  if (Reflect.get(fields, 'schemaVersion') === 1 || 'fsLayers' in fields) {
    throw new AppError(
      'not_supported',
      `${about} has a manifest of schema version 1: push it again with a present tool`,
    );
  }
  throw unusableImage(`${about}: its manifest has neither layers nor manifests`);
}

function read<T>(schema: z.ZodType<T>, fields: object, about: string): T {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusableImage(`${about}: its manifest is malformed (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`);
}
