import { ErrorBody } from '#conductor/drivers/redfish/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';

const maxText = 500;

/**
 * The BMC's own words from an error body: extended messages where given, else code and message. Of what is no Redfish error
 * nothing is repeated: the server may be none that the caller of the API should read.
 */
export function bmcMessage(body: unknown): string {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return '';
  const { error } = parsed.data;
  const extended = (error['@Message.ExtendedInfo'] ?? []).map((info) => info.Message || info.MessageId || '');
  const texts = [...new Set(extended.filter(Boolean))];
  if (texts.length > 0) return texts.join(' ').slice(0, maxText);
  return (error.message || error.code || '').slice(0, maxText);
}

/**
 * The error for an HTTP status: `unavailable` when the BMC is busy or behind a broken proxy, else `bmc_error`;
 * `details.status` holds the status.
 */
export function statusError(what: string, status: number, body: unknown): AppError {
  const text = bmcMessage(body);
  const hint = status === 401 ? ' (redfish_username or redfish_password is wrong)' : '';
  const message = `${what} answered ${status}${hint}${text === '' ? '' : `: ${text}`}`;
  const busy = [429, 502, 503, 504].includes(status);
  return new AppError(busy ? 'unavailable' : 'bmc_error', message, { details: { status } });
}

/** The HTTP status behind an error of the Redfish client, if it was one. */
export function httpStatusOf(error: unknown): number | undefined {
  const status = error instanceof AppError ? error.details['status'] : undefined;
  return typeof status === 'number' ? status : undefined;
}
