import type { JsonObject } from '#conductor/model/json-object.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';

/** What of `instance_info` the agent, or what the machine boots, fetches. */
const fetchedFields = [
  'image_source',
  'image_checksum',
  'image_os_hash_value',
  'kernel',
  'ramdisk',
  'boot_iso',
  'configdrive',
];

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

/**
 * The same for the files of requested `inject_files` steps; the agent looks again, at what templates in them lead to.
 * @throws AppError `forbidden`, `invalid_argument` naming step and file.
 */
export function checkStepUrls(
  steps: readonly { readonly step: string; readonly args?: Readonly<Record<string, unknown>> | undefined }[],
  rules: OutboundRules,
): void {
  for (const { step, args } of steps) {
    if (step === 'inject_files') checkInjectedFiles('inject_files: files', args?.['files'], rules);
  }
}

function checkInjectedFiles(what: string, files: unknown, rules: OutboundRules): void {
  for (const [index, file] of (Array.isArray(files) ? (files as unknown[]) : []).entries()) {
    const content = typeof file === 'object' && file !== null && 'content' in file ? file.content : undefined;
    const isFilledIn = typeof content === 'string' && /[{}]/.test(content);
    if (!isFilledIn) checkFetched(`${what}[${index}].content`, content, rules);
  }
}
