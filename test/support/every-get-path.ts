/**
 * Every path that answers GET, of each of the things that are there: pure.
 * @param paths of the API's document
 * @param known names of what is there, by the parameter that takes them; `x` stands for all others
 */
export function everyGetPath(paths: Readonly<Record<string, object>>, known: ReadonlyMap<string, readonly string[]>) {
  return Object.entries(paths)
    .filter(([, methods]) => 'get' in methods)
    .flatMap(([path]) => {
      const [first = '', second = ''] = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
      const other = known.get(second)?.[0] ?? 'x';
      return (known.get(first) ?? ['x']).map((value) => path.replace(/\{\w+\}/, value).replace(/\{\w+\}/, other));
    });
}
