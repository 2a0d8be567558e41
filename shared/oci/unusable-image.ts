import { AppError } from '#shared/errors/app-error.ts';

/** Makes the error for an image that was found and can't be written to a disk. */
export function unusableImage(message: string): AppError {
  return new AppError('image_error', message, { situation: 'image_unusable' });
}
