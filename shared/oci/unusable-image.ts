import { AppError } from '#shared/errors/app-error.ts';

/** Characters of a message: it names what stands in manifests, where names are as long as their writer likes. */
const longestMessage = 2_000;

/** Makes the error for an image that was found and can't be written to a disk. */
export function unusableImage(message: string): AppError {
  const text = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
  return new AppError('image_error', text, { situation: 'image_unusable' });
}
