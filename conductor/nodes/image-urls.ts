import { checkOutboundUrl, type OutboundRules } from '#conductor/kernel/outbound-url.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** What of `instance_info` the agent fetches. */
const fetchedFields = ['image_source', 'image_checksum', 'image_os_hash_value', 'kernel', 'ramdisk', 'configdrive'];

/**
 * Whether the machine may fetch what its instance is made of: it stands in networks that whoever asks for it may not.
 * @throws AppError `forbidden` naming the field (`BATON_IMAGE_URL_ALLOW`).
 */
export function checkImageUrls(instanceInfo: JsonObject, rules: OutboundRules): void {
  for (const field of fetchedFields) checkFetched(`instance_info.${field}`, instanceInfo[field], rules);
}

/** The same for a config drive, which may be its own text as well. */
export function checkFetched(what: string, value: unknown, rules: OutboundRules): void {
  if (typeof value === 'string' && /^\s*https?:/i.test(value)) checkOutboundUrl(what, value.trim(), rules);
}
