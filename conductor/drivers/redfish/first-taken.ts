import { httpStatusOf } from '#conductor/drivers/redfish/errors.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/transport.ts';

/**
 * Sends the bodies in turn, the next one to a BMC that refuses the one before.
 * @throws AppError with the words of the first refusal: that was of what the standard has
 */
export async function firstTaken(
  bodies: readonly object[],
  send: (body: object) => Promise<RedfishAnswer>,
): Promise<RedfishAnswer> {
  let refusal: unknown;
  for (const body of bodies) {
    try {
      return await send(body);
    } catch (error) {
      if (![400, 422].includes(httpStatusOf(error) ?? 0)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}
