"""Runs in a process of its own: a part of a recording into text, by faster-whisper.

    python -I -S -B transcribe.py PACKAGES MODEL FILE START END THREADS

Promises: one JSON line per segment: {"start", "end", "text"}, times in seconds of the recording;
END may be empty. Nothing is downloaded: MODEL is a folder.
Does not: import anything of this project.
"""

from __future__ import annotations

import json
import sys


def main(words: list[str]) -> None:
    """Transcribe. Whatever goes wrong ends this process with a message on standard error."""
    packages, folder, sound, start, end, threads = words
    sys.path.append(packages)
    from faster_whisper import WhisperModel  # type: ignore[import-not-found,unused-ignore]

    model = WhisperModel(
        folder,
        device="cpu",
        compute_type="int8",
        cpu_threads=int(threads),
        local_files_only=True,
    )
    clip = [float(start), float(end)] if end else [float(start)]
    segments, _ = model.transcribe(sound, clip_timestamps=clip, condition_on_previous_text=False)
    for segment in segments:
        said = {"start": segment.start, "end": segment.end, "text": segment.text}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
