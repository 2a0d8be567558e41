import { AppError, errorCode, faultOf, isRetryable } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * Writes an image, and once more from its beginning where all its servers have got a file of another length meanwhile: the
 * first may have been put there only in part. The checksum says whether the new file is the one that was asked for.
 * @param write leaves the disk closed where it fails
 * @throws Error of the first write; AppError about the second, where there was one
 */
export async function writeAgainIfReplaced<T>(log: Log, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (faultOf(error).code !== 'image_replaced') throw error;
    log.warn({ err: error }, 'the image was replaced on its server: it is read again from its beginning');
  }
  try {
    return await write();
  } catch (cause) {
    const options = { cause, retryable: isRetryable(cause) };
    const what = 'read the image again from its beginning, as it was replaced on its server during the download';
    throw new AppError(errorCode(cause), what, options);
  }
}
