import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { readEach, readShownPaths } from '#conductor/drivers/redfish/client/collection.ts';
import type { MediaTrust } from '#conductor/drivers/redfish/client/driver-info.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { patchResource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import { type MediaSlot, VirtualMedia } from '#conductor/drivers/redfish/media/media-slots.ts';
import { AppError } from '#shared/errors/app-error.ts';

const Certificate = z.looseObject({ CertificateString: orUndefined(z.string()), Fingerprint: orUndefined(z.string()) });

/**
 * Has a slot verify, or not, before it is asked to fetch an image over HTTPS (DMTF VirtualMedia 1.4 and later,
 * `VerifyCertificate` and `Certificates`). What the BMC shows afterwards counts.
 * @throws AppError `not_supported` when the slot can't verify as it is to
 */
export async function setMediaTrust(
  system: RedfishSystem,
  slot: MediaSlot,
  trust: MediaTrust,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock } = system;
  const { path, data } = slot;
  // the standard: a service without the property doesn't verify
  if (trust === undefined || (trust === false && data.VerifyCertificate !== true)) return;
  const what = `have ${client.origin}${path} ${trust === false ? 'not verify' : 'verify'} certificates`;
  if (!('VerifyCertificate' in data)) {
    throw new AppError('not_supported', `${what}: it has no VerifyCertificate; unset virtual_media_verify_ca`);
  }
  if (typeof trust === 'object') await install(system, { slot, trust, what }, signal);
  const wanted = trust !== false;
  if (data.VerifyCertificate === wanted) return;
  const answer = await patchResource(client, slot, { VerifyCertificate: wanted }, signal);
  await finishTask(client, answer, what, { clock, signal, isLookedAt: true });
  const shown = (await readResource(client, path, VirtualMedia, signal)).data.VerifyCertificate ?? null;
  if (shown === wanted) return;
  throw new AppError('bmc_error', `${what}: VerifyCertificate was set to ${wanted}, and the BMC shows ${shown}`);
}

/** Adds the authorities that the slot doesn't show; those of others stay. */
async function install(
  { client, clock }: RedfishSystem,
  { slot, trust, what }: { readonly slot: MediaSlot; readonly trust: readonly string[]; readonly what: string },
  signal: AbortSignal,
): Promise<void> {
  const place = slot.data.Certificates?.['@odata.id'];
  if (place === undefined) {
    const instead = 'load the authority into the BMC by its own means, and set virtual_media_verify_ca to true';
    throw new AppError('not_supported', `${what}: it takes no authorities (no Certificates); ${instead}`);
  }
  const shown: string[] = [];
  const members = (await readShownPaths(client, place, signal)).read;
  // one authority that is given twice does no harm, and the slot shows what it trusts
  for (const { data } of (await readEach(client, members, Certificate, signal)).read) {
    const print = fingerprintOf(data.CertificateString ?? '') ?? data.Fingerprint?.replaceAll(':', '').toUpperCase();
    if (print) shown.push(print);
  }
  for (const pem of trust) {
    const print = fingerprintOf(pem);
    if (print !== undefined && shown.includes(print)) continue;
    const body = { CertificateString: pem, CertificateType: 'PEM' };
    try {
      const answer = await client.request({ method: 'POST', path: place, body, signal });
      await finishTask(client, answer, what, { clock, signal, isLookedAt: true });
    } catch (error) {
      // it is there, and the BMC shows no text of it; were it another, the slot would refuse the image
      if (httpStatusOf(error) !== 409) throw error;
    }
  }
}

/** SHA-256 in hexadecimal digits; `undefined` for what is no certificate. */
function fingerprintOf(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).fingerprint256.replaceAll(':', '');
  } catch {
    return undefined; // some BMCs show a part of it, or a text of their own
  }
}
