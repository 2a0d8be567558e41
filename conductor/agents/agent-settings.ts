import { looksSealed } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { isSecretName } from '#conductor/model/secret-names.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** Beside those that begin with `agent_`, as in Ironic's documents. */
const otherKeys: ReadonlySet<string> = new Set(['disk_erasure_concurrency', 'wipe_special_filesystems']);
/** Names that tell of a BMC's account beside those that are secret everywhere. */
const accountName = /username|verify_ca/i;

/**
 * What of `driver_info` in-band steps read: `agent_burnin_cpu_timeout`, `agent_erase_devices_iterations` and the like.
 * A BMC's address and password are none of the machine's business, and no secret leaves: not by its key's name at any
 * depth, not as a login in a URL.
 */
export function agentSettings(driverInfo: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(driverInfo).filter(
      ([key, value]) => (key.startsWith('agent_') || otherKeys.has(key)) && !holdsSecret(key, value),
    ),
  );
}

/**
 * `instance_info` as every command carries it, of which in-band steps read hints and capabilities: without passwords,
 * config drive, and URLs with a login. What writes an image is given those by its own argument, `image_info`.
 */
export function agentInstanceInfo(instanceInfo: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(instanceInfo).filter(([key, value]) => !holdsSecret(key, value)));
}

function holdsSecret(key: string, value: unknown): boolean {
  if (isSecretName(key) || accountName.test(key)) return true;
  if (typeof value === 'string') return looksSealed(value) || maskUrlLogins(value) !== value;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([inner, each]) => holdsSecret(inner, each));
}
