/**
 * Samples of Prometheus' text format (version 0.0.4), by name and labels as written. As strict as its specification:
 * HELP and TYPE once and before the samples, samples of a metric together, no sample twice.
 * @throws Error naming the line
 */
export function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  const helped = new Set<string>();
  if (!text.endsWith('\n')) throw new Error('the last line must end with a line feed');
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const refuse = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (comment) {
      const [, keyword, name = '', rest = ''] = comment;
      if (keyword === 'HELP') helped.add(name);
      else if (types.has(name)) refuse('TYPE for the second time');
      else if (!/^(counter|gauge|histogram|summary|untyped)$/.test(rest)) refuse('no such type');
      else types.set(name, rest);
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/.exec(line);
    if (!sample) throw new Error(`not a sample: ${line}`);
    const [, name = '', labels = '', value = ''] = sample;
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    if (!types.has(family) || !helped.has(family)) refuse('no HELP and TYPE before the sample');
    if ([...types.keys()].at(-1) !== family) refuse('apart from the other samples of its metric');
    const number = value === '+Inf' ? Infinity : Number(value);
    if (Number.isNaN(number) && value !== 'NaN') refuse('not a number');
    const key = `${name}${labels}`;
    if (samples.has(key)) refuse('for the second time');
    samples.set(key, number);
  }
  return samples;
}
