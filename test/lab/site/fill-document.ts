import { AppError } from '#shared/errors/app-error.ts';

/**
 * A document with the lab's values in the place of `$(name)`.
 * @throws AppError `invalid_argument` naming what has no value
 */
export function fillDocument(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\((\w+)\)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined)
      throw new AppError('invalid_argument', `the document asks for $(${name}), which nobody has`);
    return value;
  });
}
