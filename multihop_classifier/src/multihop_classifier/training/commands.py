"""``multihop-classifier seeds | review | train``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from multihop_classifier.training import review
from multihop_classifier.training.rows import REVIEWED_BEFORE_TRAINING, Row, RowsError, read_rows, write_rows
from multihop_classifier.training.seeds import LANGUAGES, generate


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the commands of training to those of the service."""
    _add_seeds(commands)
    _add_review(commands)
    _add_train(commands)


def _add_seeds(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("seeds", help="make seed questions from templates")
    parser.add_argument("--out", type=Path, required=True, help="JSONL to write")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(run=_seeds)


def _seeds(arguments: argparse.Namespace) -> None:
    if arguments.out.exists():
        raise RowsError(f"{arguments.out} exists already, perhaps with reviewed rows; name another file.")
    made = write_rows(arguments.out, generate(arguments.count, languages=arguments.languages, seed=arguments.seed))
    print(f"{made} questions: {arguments.out}. Review them next (multihop-classifier review {arguments.out}).")


def _add_review(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("review", help="look at questions and labels, in the terminal or by CSV")
    parser.add_argument("rows", type=Path, help="JSONL that is reviewed in place")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--to-csv", type=Path, metavar="CSV", help="write what is not reviewed yet for a spreadsheet")
    ways.add_argument("--from-csv", type=Path, metavar="CSV", help="take the verdicts of a spreadsheet")
    ways.add_argument("--counts", action="store_true", help="only say how far the review is")
    parser.set_defaults(run=_review)


def _review(arguments: argparse.Namespace) -> None:
    rows = read_rows(arguments.rows)
    if arguments.to_csv:
        review.write_csv(arguments.to_csv, rows)
        print(f"Fill in the column verdict of {arguments.to_csv}: ok, single, multi or drop.")
    elif arguments.from_csv:
        reviewed = review.read_csv(arguments.from_csv, rows)
        write_rows(arguments.rows, reviewed)
        print(f"{len(rows) - len(reviewed)} dropped. {review.count(reviewed).told(REVIEWED_BEFORE_TRAINING)}")
    elif arguments.counts:
        print(review.count(rows).told(REVIEWED_BEFORE_TRAINING))
    else:

        def save(left: Sequence[Row]) -> None:
            write_rows(arguments.rows, left)

        review.review_in_terminal(rows, ask=input, tell=print, save=save, needed=REVIEWED_BEFORE_TRAINING)


def _add_train(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("train", help="train, measure and export a model (extra: training)")
    parser.add_argument("rows", type=Path, nargs="+", help="JSONL with question, label, features, features_version")
    parser.add_argument("--encoder", type=Path, required=True, help="Hugging Face folder of a BERT-like encoder")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights, report and pictures")
    parser.add_argument("--name", default="", help="version of the model (default: date and encoder)")
    parser.add_argument("--unreviewed", action="store_true", help="train with fewer than 500 reviewed rows")
    parser.add_argument("--cap", type=int, help="train on at most so many rows of each source and label")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="SOURCE", help="sources that are scored only")
    parser.add_argument("--left-out-cap", type=int, help="--cap for the sources that are left out")
    parser.add_argument("--centre", type=_probability, metavar="P", help="probability that gets 0.5 (default: best F1)")
    parser.add_argument("--report-only", action="store_true", help="export no weights")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate of the encoder")
    parser.add_argument("--freeze", type=int, default=0, metavar="LAYERS", help="lower layers that stay as they are")
    parser.add_argument("--states", type=Path, help="file that keeps what frozen layers computed, for further runs")
    parser.add_argument("--restyled", type=float, default=0.5, help="share of questions shown in another manner")
    parser.add_argument("--masked", type=float, default=0.3, help="share of questions with masked names")
    parser.add_argument("--blind", type=float, default=0.3, help="share of questions of which only features are seen")
    parser.add_argument("--one-label", type=float, default=1.0, help="weight of sources that have one label only")
    parser.add_argument("--showings", type=int, default=0, help="epochs after which showings come again (0: never)")
    parser.add_argument("--bfloat16", action="store_true", help="faster where the processor has it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.set_defaults(run=_train)


def _probability(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} lies not between 0 and 1")
    return value


def _train(arguments: argparse.Namespace) -> None:
    try:
        from multihop_classifier.training import run  # noqa: PLC0415 - needs the extra
        from multihop_classifier.training.fit import Recipe  # noqa: PLC0415
    except ImportError as error:
        raise RowsError(f"Training needs the extra: pip install 'multihop-classifier[training]' ({error}).") from error
    rows = [row for path in arguments.rows for row in read_rows(path)]
    run.threads(arguments.threads)
    report = run.train(
        rows,
        run.Order(
            encoder=arguments.encoder,
            out=arguments.out,
            name=arguments.name or f"{date.today().isoformat()}-{arguments.encoder.resolve().name}",
            unreviewed=arguments.unreviewed,
            cap=arguments.cap,
            left_out_cap=arguments.left_out_cap,
            leave_out=tuple(arguments.leave_out),
            states=arguments.states,
            centre=arguments.centre,
            weights=not arguments.report_only,
        ),
        Recipe(
            epochs=arguments.epochs,
            batch=arguments.batch,
            rate=arguments.rate,
            freeze=arguments.freeze,
            restyled=arguments.restyled,
            masked=arguments.masked,
            blind=arguments.blind,
            one_label=arguments.one_label,
            showings=arguments.showings,
            bfloat16=arguments.bfloat16,
            seed=arguments.seed,
        ),
    )
    tested = report["test"]["all"]
    print(f"{report['version']}: F1 {tested['f1']}, recall {tested['recall']} on the test part; {arguments.out}")
