import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { requireNoOtherDigest } from '#conductor/nodes/boot/image-info.ts';
import type { Clock } from '#shared/clock.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { parsePullSecret } from '#shared/oci/pull-secret.ts';
import { isOciSource, type OciReference, parseOciReference } from '#shared/oci/reference.ts';
import type { RegistryConfig } from '#shared/oci/registry-settings.ts';
import type { ResolvedImage } from '#shared/oci/resolve-image.ts';
import { resolveMirrored } from '#shared/oci/resolve-mirrored.ts';
import { findStoredLogin } from '#shared/oci/stored-login.ts';
import { checkOutboundUrl, type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';

interface Context {
  readonly config: { readonly registries: RegistryConfig; readonly outbound: { readonly images: OutboundRules } };
  readonly secrets: Secrets;
  readonly clock: Clock;
}

/** Limits of what is asked of a registry. */
export interface AskOptions {
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly onAsk?: () => void;
}

const loginAdvice = 'instance_info.image_pull_secret has it for one node, the file of BATON_OCI_AUTH_FILE for all';

/**
 * Finds the image that a node's `instance_info.image_source` names in a registry; `undefined` where it names none.
 * @param options.pinned an earlier answer's `pinned`: the same image again, whatever its tag means now
 * @param options.patienceMs longest time that a busy registry is waited for
 * @param options.onAsk called before each request
 * @throws AppError as `resolveImage`, `invalid_argument` for a reference or secret that can't be read.
 */
export async function findRegistryImage(
  { config, secrets, clock }: Context,
  node: NodeRow,
  options: AskOptions & { readonly pinned?: unknown },
): Promise<ResolvedImage | undefined> {
  const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
  const { image_source: source, image_pull_secret: secret } = instanceInfo;
  if (!isOciSource(source)) return undefined;
  const given = parseOciReference(source, 'instance_info.image_source');
  const reference = pinnedOf(given, options.pinned) ?? given;
  const login = (secret ?? '') === '' ? undefined : parsePullSecret(secret, 'instance_info.image_pull_secret');
  const rules: OutboundRules = { ...config.outbound.images, connectsHere: true };
  const dispatcher = outboundAgent(rules);
  try {
    const means: RegistryMeans = {
      clock,
      signal: options.signal,
      dispatcher,
      checkUrl: (url) => {
        options.onAsk?.();
        checkOutboundUrl('instance_info.image_source', url.href, rules);
      },
      plainHttp: config.registries.plainHttp,
      loginFor: async (registry) =>
        // the node's secret is for the registry, not for its mirror
        login && registry === reference.registry ? login : findStoredLogin(config.registries, registry),
      loginAdvice,
      archField: "the node's properties.cpu_arch",
      patienceMs: options.patienceMs,
    };
    const { cpu_arch: cpuArch } = node.properties;
    const arch = typeof cpuArch === 'string' && cpuArch !== '' ? cpuArch : undefined;
    const image = await resolveMirrored(reference, arch, means, config.registries.mirrors);
    requireNoOtherDigest(instanceInfo, image.digest);
    return image;
  } finally {
    await dispatcher.destroy();
  }
}

/** Returns the reference that was planned, where the node still names the same tag. */
function pinnedOf(given: OciReference, pinned: unknown): OciReference | undefined {
  if (!isOciSource(pinned)) return undefined;
  const planned = parseOciReference(pinned, 'the planned image');
  const isSame = (['registry', 'repository', 'tag'] as const).every((part) => planned[part] === given[part]);
  return isSame ? planned : undefined;
}
