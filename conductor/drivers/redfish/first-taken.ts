import { httpStatusOf } from '#conductor/drivers/redfish/errors.ts';

/** What BMCs answer to a property or a value that they do not have. */
const refusals = [400, 409, 422, 501];

/**
 * Sends the requests in turn, the next one to a BMC that refuses the one before.
 * @throws AppError with the words of the first refusal: that was of what the standard has
 */
export async function firstTaken<Ask, Answer>(
  asks: readonly Ask[],
  send: (ask: Ask) => Promise<Answer>,
): Promise<Answer> {
  let refusal: unknown;
  for (const ask of asks) {
    try {
      return await send(ask);
    } catch (error) {
      if (!refusals.includes(httpStatusOf(error) ?? 0)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}
